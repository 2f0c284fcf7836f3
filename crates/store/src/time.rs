//! Timestamps as stored.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds of a day.
pub(crate) const DAY_MICROS: i64 = 86_400_000_000;
const HOUR_MICROS: i64 = DAY_MICROS / 24;

/// Microseconds since 1970, UTC. Each API renders it in its own format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The beginning of 1970.
    pub const EPOCH: Timestamp = Timestamp(0);

    /// The clock of this machine.
    pub fn now() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(since.as_micros().try_into().unwrap_or(i64::MAX))
    }

    /// From microseconds since 1970.
    pub fn from_micros(micros: i64) -> Self {
        Timestamp(micros)
    }

    /// Microseconds since 1970.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970.
    pub fn as_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Later by `time`.
    pub fn after(self, time: Duration) -> Self {
        Timestamp(self.0.saturating_add(micros(time)))
    }

    /// Earlier by `time`.
    pub fn before(self, time: Duration) -> Self {
        Timestamp(self.0.saturating_sub(micros(time)))
    }

    /// The beginning of its hour.
    pub(crate) fn hour_start(self) -> Timestamp {
        Timestamp(self.0.saturating_sub(self.0.rem_euclid(HOUR_MICROS)))
    }

    /// The beginning of its day in UTC.
    #[must_use]
    pub fn day_start(self) -> Timestamp {
        Timestamp(self.0.saturating_sub(self.0.rem_euclid(DAY_MICROS)))
    }
}

fn micros(time: Duration) -> i64 {
    time.as_micros().try_into().unwrap_or(i64::MAX)
}
