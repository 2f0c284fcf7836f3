//! When a broken connection is repaired, and how long it is tried.

use std::time::Duration;

use prowess_client::Error;

const FIRST_DELAY: Duration = Duration::from_millis(200);
const MAX_DELAY: Duration = Duration::from_secs(5);
/// Attempts without any event in between; about a minute. A run whose server died is resumed
/// within 15 seconds.
const MAX_ATTEMPTS: u32 = 16;

/// Counts attempts to reconnect.
#[derive(Debug, Default)]
pub(crate) struct Reconnect {
    attempts: u32,
}

impl Reconnect {
    /// Something was received: the next failure is a new one.
    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }

    /// Whether this is the first attempt since something was received.
    pub(crate) fn is_first(&self) -> bool {
        self.attempts == 0
    }

    /// How long to wait before the next attempt; none after the last one.
    pub(crate) fn next_delay(&mut self) -> Option<Duration> {
        if self.attempts >= MAX_ATTEMPTS {
            return None;
        }
        let delay = FIRST_DELAY.saturating_mul(2_u32.saturating_pow(self.attempts));
        self.attempts += 1;
        Some(delay.min(MAX_DELAY))
    }
}

/// Whether the same request may succeed later.
pub(crate) fn is_transient(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::InvalidResponse(_) => true,
        Error::Refused { status, .. } => matches!(status, 408 | 429 | 500..),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_to_a_limit_and_end() {
        let mut reconnect = Reconnect::default();
        let delays: Vec<Duration> = std::iter::from_fn(|| reconnect.next_delay()).collect();
        assert_eq!(delays.len(), 16);
        assert_eq!(delays.first(), Some(&Duration::from_millis(200)));
        assert_eq!(delays.last(), Some(&Duration::from_secs(5)));
        let all: Duration = delays.iter().sum();
        assert!(all > Duration::from_secs(45) && all < Duration::from_secs(90));
        reconnect.reset();
        assert!(reconnect.is_first() && reconnect.next_delay().is_some());
    }
}
