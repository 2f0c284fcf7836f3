//! How long credentials are used, and when new ones are fetched.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::error::CloudError;
use crate::source::Issued;

/// New ones are fetched this long before the old ones expire. Metadata services have new ones by
/// then.
const REFRESH_WINDOW: Duration = Duration::from_secs(5 * 60);
/// Not used this long before they expire, as the request still has to arrive.
const USE_MARGIN: Duration = Duration::from_secs(30);
/// Credentials without an expiry are read again this often: their file may have changed.
const REREAD_AFTER: Duration = Duration::from_secs(5 * 60);

/// Credentials in use.
#[derive(Clone)]
pub(super) struct Current<T> {
    pub(super) value: T,
    pub(super) refresh_at: Instant,
    valid_until: Option<ValidUntil>,
}

/// The end of a lifetime by both clocks: the steady one stops while a machine sleeps, and the
/// other may be set back.
#[derive(Clone)]
struct ValidUntil {
    steady: Instant,
    wall: SystemTime,
}

impl<T> Current<T> {
    /// Credentials as they were issued; an error if they cannot be used any more.
    pub(super) fn new(
        issued: Issued<T>,
        now: Instant,
        wall: SystemTime,
    ) -> Result<Self, CloudError> {
        let Some(expires) = issued.expires else {
            return Ok(Current {
                value: issued.value,
                refresh_at: now + jittered(REREAD_AFTER),
                valid_until: None,
            });
        };
        let lifetime = expires.duration_since(wall).unwrap_or_default();
        if lifetime.is_zero() {
            return Err(CloudError::Expired);
        }
        // Short lifetimes have short margins.
        let usable = lifetime - USE_MARGIN.min(lifetime / 10);
        let window = REFRESH_WINDOW.min(lifetime / 4);
        let refresh_in = lifetime - window - jitter(window);
        // A lifetime that no clock can express counts as none.
        let valid_until = now.checked_add(usable).map(|steady| ValidUntil {
            steady,
            wall: wall + usable,
        });
        Ok(Current {
            value: issued.value,
            refresh_at: now.checked_add(refresh_in).unwrap_or(now + REREAD_AFTER),
            valid_until,
        })
    }

    /// The same, due for a refresh at another time.
    pub(super) fn due_at(self, refresh_at: Instant) -> Self {
        Current { refresh_at, ..self }
    }

    /// Whether there is an end of their lifetime.
    pub(super) fn expires(&self) -> bool {
        self.valid_until.is_some()
    }

    pub(super) fn is_valid(&self, now: Instant, wall: SystemTime) -> bool {
        let until = self.valid_until.as_ref();
        until.is_none_or(|until| now < until.steady && wall < until.wall)
    }
}

/// A part of the window at random, so that many servers do not ask at once.
fn jitter(window: Duration) -> Duration {
    window.mul_f64(fastrand::f64() / 5.0)
}

fn jittered(duration: Duration) -> Duration {
    duration - jitter(duration)
}
