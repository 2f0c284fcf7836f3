//! Days and months of UTC.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};
use prowess_store::{Period, Timestamp};

/// When the period began that holds this moment.
pub(super) fn began(period: Period, now: Timestamp) -> Timestamp {
    match start(period, now) {
        Some(start) => Timestamp::from_micros(start.timestamp().as_microsecond()),
        None => Timestamp::EPOCH,
    }
}

/// How long it lasts from this moment on; nothing when it never ends.
pub(super) fn rest(period: Period, now: Timestamp) -> Option<Duration> {
    let start = start(period, now)?;
    let next = match period {
        Period::Ever => return None,
        Period::Day => start.tomorrow().ok()?,
        Period::Month => start.last_of_month().ok()?.tomorrow().ok()?,
    };
    let left = SignedDuration::from_micros(next.timestamp().as_microsecond() - now.as_micros());
    Duration::try_from(left).ok()
}

fn start(period: Period, now: Timestamp) -> Option<Zoned> {
    let now = jiff::Timestamp::from_microsecond(now.as_micros()).ok()?;
    let today = now.to_zoned(TimeZone::UTC).start_of_day().ok()?;
    match period {
        Period::Ever => None,
        Period::Day => Some(today),
        Period::Month => today.first_of_month().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        let time: jiff::Timestamp = text.parse().unwrap();
        Timestamp::from_micros(time.as_microsecond())
    }

    #[test]
    fn periods_begin_and_end_with_the_calendar() {
        let now = at("2026-12-15T13:00:00Z");
        assert_eq!(began(Period::Day, now), at("2026-12-15T00:00:00Z"));
        assert_eq!(began(Period::Month, now), at("2026-12-01T00:00:00Z"));
        assert_eq!(began(Period::Ever, now), Timestamp::EPOCH);
        let hours = |hours: u64| Some(Duration::from_secs(hours * 3_600));
        assert_eq!(rest(Period::Day, now), hours(11));
        assert_eq!(rest(Period::Month, now), hours(16 * 24 + 11));
        assert_eq!(rest(Period::Ever, now), None);
    }
}
