//! Whole hours whose usage does not change any more: rows get the time of the moment in which they
//! are written. Their sums are read once and kept for a while, so that a report of a month reads
//! little more than the rows of the last hours.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use moka::future::Cache;

use crate::time::Timestamp;

/// How long after an hour its rows are taken as final: writers may be late, and clocks differ. A row
/// that comes later is counted when the sums are read again.
const SETTLED_AFTER: Duration = Duration::from_secs(3600);
/// How long sums are kept. What operators delete meanwhile is still counted.
const KEPT_FOR: Duration = Duration::from_secs(15 * 60);
/// Bytes of the sums in one cache, of all tenants together.
const CACHE_BYTES: u64 = 16 << 20;

/// Some whole hours that are over: from `start`, which begins a day, to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PastHours {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

impl PastHours {
    /// The hours of a period up to now that are over; none if it has none. They begin with a day,
    /// so that all periods of the same days have the same.
    pub(crate) fn within(since: Timestamp, now: Timestamp) -> Option<PastHours> {
        let day_start = since.day_start();
        let start = match day_start == since {
            true => since,
            false => day_start.after(Duration::from_secs(24 * 3600)),
        };
        let end = now.before(SETTLED_AFTER).hour_start();
        (start < end).then_some(PastHours { start, end })
    }
}

/// Sums of past hours, by what they are sums of.
pub(crate) struct PastSums<K, V>(pub(crate) Cache<K, Arc<V>>);

impl<K, V> PastSums<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    /// `memory` gives the bytes of some sums.
    pub(crate) fn new(memory: impl Fn(&V) -> usize + Send + Sync + 'static) -> Self {
        let weigh = move |_: &K, sums: &Arc<V>| u32::try_from(memory(sums)).unwrap_or(u32::MAX);
        let cache = Cache::builder().max_capacity(CACHE_BYTES);
        PastSums(cache.weigher(weigh).time_to_live(KEPT_FOR).build())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;
    const DAY: i64 = 24 * HOUR;

    fn within(since: i64, now: i64) -> Option<(i64, i64)> {
        let at = Timestamp::from_micros;
        let hours = PastHours::within(at(since), at(now))?;
        Some((hours.start.as_micros(), hours.end.as_micros()))
    }

    #[test]
    fn only_whole_hours_that_are_over_for_some_time_are_past() {
        let now = 100 * DAY + 7 * HOUR + 5;
        let end = 100 * DAY + 6 * HOUR;
        assert_eq!(within(90 * DAY, now), Some((90 * DAY, end)));
        assert_eq!(within(90 * DAY + 1, now), Some((91 * DAY, end)));
        assert_eq!(within(100 * DAY, now), Some((100 * DAY, end)));
        assert_eq!(within(100 * DAY, end), Some((100 * DAY, end - HOUR)));
        assert_eq!(within(100 * DAY, 100 * DAY + 2 * HOUR - 1), None);
        assert_eq!(within(100 * DAY + 1, now), None);
        assert_eq!(within(200 * DAY, now), None);
    }
}
