//! The time of day, as a value that tests supply. Durations are measured by tokio's clock.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// Says what time it is.
#[derive(Clone)]
pub struct CloudClock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl CloudClock {
    /// The system's clock.
    pub fn system() -> Self {
        CloudClock::from_fn(SystemTime::now)
    }

    /// A clock that asks this function.
    pub fn from_fn(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        CloudClock(Arc::new(now))
    }

    /// The time now.
    pub fn now(&self) -> SystemTime {
        (self.0)()
    }
}

impl fmt::Debug for CloudClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CloudClock")
    }
}
