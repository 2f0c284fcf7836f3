//! Remembers briefly that the database is unreachable.
//!
//! Without this, every request that could use cached data would first wait for the
//! database.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How often the database is tried during an outage.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// When the database may be tried next; `None` if there is no outage.
#[derive(Debug, Default)]
pub(crate) struct Outage(Mutex<Option<Instant>>);

impl Outage {
    /// Whether to query the database. During an outage one request at a time does, at
    /// intervals.
    pub(crate) fn can_try(&self) -> bool {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match *next {
            None => true,
            Some(at) if at > now => false,
            Some(_) => {
                *next = Some(now + RETRY_INTERVAL);
                true
            }
        }
    }

    pub(crate) fn begin(&self) {
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *next = Some(Instant::now() + RETRY_INTERVAL);
    }

    pub(crate) fn end(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn during_an_outage_one_request_tries_now_and_then() {
        let outage = Outage::default();
        assert!(outage.can_try() && outage.can_try());
        outage.begin();
        assert!(!outage.can_try());
        tokio::time::advance(RETRY_INTERVAL).await;
        assert!(outage.can_try());
        assert!(!outage.can_try(), "another one is trying");
        outage.end();
        assert!(outage.can_try() && outage.can_try());
    }
}
