//! Days and months in UTC.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};
use prowess_store::{BudgetPeriod, Timestamp};

/// The start of the period that contains this moment.
pub(super) fn period_start(period: BudgetPeriod, now: Timestamp) -> Timestamp {
    match calendar_start(period, now) {
        Some(start) => Timestamp::from_micros(start.timestamp().as_microsecond()),
        None => Timestamp::EPOCH,
    }
}

/// The time until its end; none when it never ends.
pub(super) fn time_left(period: BudgetPeriod, now: Timestamp) -> Option<Duration> {
    let start = calendar_start(period, now)?;
    let next = match period {
        BudgetPeriod::Ever => return None,
        BudgetPeriod::Day => start.tomorrow().ok()?,
        BudgetPeriod::Month => start.last_of_month().ok()?.tomorrow().ok()?,
    };
    let left = SignedDuration::from_micros(next.timestamp().as_microsecond() - now.as_micros());
    Duration::try_from(left).ok()
}

fn calendar_start(period: BudgetPeriod, now: Timestamp) -> Option<Zoned> {
    let now = jiff::Timestamp::from_microsecond(now.as_micros()).ok()?;
    let today = now.to_zoned(TimeZone::UTC).start_of_day().ok()?;
    match period {
        BudgetPeriod::Ever => None,
        BudgetPeriod::Day => Some(today),
        BudgetPeriod::Month => today.first_of_month().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(text: &str) -> Timestamp {
        let time: jiff::Timestamp = text.parse().unwrap();
        Timestamp::from_micros(time.as_microsecond())
    }

    #[test]
    fn periods_begin_and_end_with_the_calendar() {
        let now = timestamp("2026-12-15T13:00:00Z");
        assert_eq!(
            period_start(BudgetPeriod::Day, now),
            timestamp("2026-12-15T00:00:00Z")
        );
        assert_eq!(
            period_start(BudgetPeriod::Month, now),
            timestamp("2026-12-01T00:00:00Z")
        );
        assert_eq!(period_start(BudgetPeriod::Ever, now), Timestamp::EPOCH);
        let hours = |hours: u64| Some(Duration::from_secs(hours * 3_600));
        assert_eq!(time_left(BudgetPeriod::Day, now), hours(11));
        assert_eq!(time_left(BudgetPeriod::Month, now), hours(16 * 24 + 11));
        assert_eq!(time_left(BudgetPeriod::Ever, now), None);
    }
}
