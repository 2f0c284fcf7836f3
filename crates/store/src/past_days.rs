//! Whole days whose usage does not change any more: rows get the time of the moment in which they
//! are written. Their sums are read once and kept for a while, so that a report of a month reads
//! little more than the rows of the last days.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use moka::future::Cache;

use crate::time::Timestamp;

/// How long after a day its rows are taken as final: writers may be late, and clocks differ.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_secs(2 * 24 * 3600);
/// How long sums are kept. What operators delete meanwhile is still counted.
const KEPT_FOR: Duration = Duration::from_secs(15 * 60);
/// Bytes of the sums in one cache, of all tenants together.
const CACHE_BYTES: u64 = 16 << 20;

/// Some whole days that are over: from `start` to before `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PastDays {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

impl PastDays {
    /// The days of a period up to now that are over; none if it has none.
    pub(crate) fn within(since: Timestamp, now: Timestamp) -> Option<PastDays> {
        let day_start = since.day_start();
        let start = match day_start == since {
            true => since,
            false => day_start.after(Duration::from_secs(24 * 3600)),
        };
        let end = now.before(SETTLED_AFTER).day_start();
        (start < end).then_some(PastDays { start, end })
    }
}

/// Sums of past days, by what they are sums of.
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

    const DAY: i64 = 86_400_000_000;

    fn within(since: i64, now: i64) -> Option<(i64, i64)> {
        let at = Timestamp::from_micros;
        let days = PastDays::within(at(since), at(now))?;
        Some((days.start.as_micros(), days.end.as_micros()))
    }

    #[test]
    fn only_whole_days_that_are_over_for_some_time_are_past() {
        let now = 100 * DAY + 5;
        assert_eq!(within(90 * DAY, now), Some((90 * DAY, 98 * DAY)));
        assert_eq!(within(90 * DAY + 1, now), Some((91 * DAY, 98 * DAY)));
        assert_eq!(within(97 * DAY, now), Some((97 * DAY, 98 * DAY)));
        assert_eq!(within(97 * DAY + 1, now), None);
        assert_eq!(within(100 * DAY, now), None);
        assert_eq!(within(200 * DAY, now), None);
    }
}
