//! Limits of requests and tokens per minute that an operator set for a deployment.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::config::MinuteLimits;

const MINUTE_SECONDS: f64 = 60.0;

/// What is left of a deployment's limits per minute. Both refill evenly over the minute.
#[derive(Debug)]
pub(crate) struct MinuteAllowance {
    left: Mutex<RemainingLimits>,
}

#[derive(Debug)]
struct RemainingLimits {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

/// An amount that refills evenly up to its capacity. It may become negative: a request that is
/// larger than a whole minute's tokens is sent when the bucket is full.
#[derive(Debug)]
struct Bucket {
    capacity: f64,
    level: f64,
    at: Instant,
}

impl MinuteAllowance {
    /// The allowance of a deployment; `None` without limits.
    pub(crate) fn new(limits: &MinuteLimits) -> Option<MinuteAllowance> {
        if limits.is_empty() {
            return None;
        }
        let left = Mutex::new(RemainingLimits {
            requests: limits.requests.map(Bucket::new),
            tokens: limits.tokens.map(Bucket::new),
        });
        Some(MinuteAllowance { left })
    }

    /// Goes on where that of an earlier configuration is: what was used of a minute stays used.
    pub(crate) fn take_over(&self, previous: &MinuteAllowance) {
        let now = Instant::now();
        let mut before = previous.left.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, left) = (&mut *before, &mut *left);
        for (own, before) in [
            (&mut left.requests, &mut before.requests),
            (&mut left.tokens, &mut before.tokens),
        ] {
            if let (Some(own), Some(before)) = (own, before) {
                before.refill(now);
                own.level = own.capacity * before.level / before.capacity;
                own.at = now;
            }
        }
    }

    /// How long a request of so many tokens must wait; zero if it need not.
    pub(crate) fn wait(&self, tokens: u64) -> Duration {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.wait(tokens)
    }

    /// Takes a request of so many tokens, if there is room for it.
    pub(crate) fn take(&self, tokens: u64) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if !left.wait(tokens).is_zero() {
            return false;
        }
        if let Some(requests) = &mut left.requests {
            requests.level -= 1.0;
        }
        if let Some(bucket) = &mut left.tokens {
            bucket.level -= tokens as f64;
        }
        true
    }
}

impl RemainingLimits {
    fn wait(&mut self, tokens: u64) -> Duration {
        let now = Instant::now();
        let requests = self.requests.as_mut();
        let requests = requests.map_or(Duration::ZERO, |bucket| bucket.wait(1, now));
        // What uses no tokens waits for none, even if more than a minute's are used up.
        let bucket = self.tokens.as_mut().filter(|_| tokens > 0);
        let tokens = bucket.map_or(Duration::ZERO, |bucket| bucket.wait(tokens, now));
        requests.max(tokens)
    }
}

impl Bucket {
    fn new(capacity: u64) -> Bucket {
        let capacity = capacity as f64;
        Bucket {
            capacity,
            level: capacity,
            at: Instant::now(),
        }
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        let refilled = self.level + self.capacity * passed / MINUTE_SECONDS;
        self.level = refilled.min(self.capacity);
    }

    fn wait(&mut self, amount: u64, now: Instant) -> Duration {
        self.refill(now);
        let missing = (amount as f64).min(self.capacity) - self.level;
        if missing <= 0.0 {
            return Duration::ZERO;
        }
        let seconds = missing * MINUTE_SECONDS / self.capacity;
        // Rounded up, so that a wait is never too short by a rounding error.
        Duration::try_from_secs_f64(seconds + 1e-6).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_allowance_refills_evenly_over_a_minute() {
        let limits = MinuteLimits {
            requests: Some(2),
            tokens: None,
        };
        let allowance = MinuteAllowance::new(&limits).unwrap();
        assert!(allowance.take(0) && allowance.take(0));
        assert!(!allowance.take(0));
        assert_eq!(allowance.wait(0).as_secs(), 30);
        tokio::time::advance(Duration::from_secs(31)).await;
        assert!(allowance.take(0));
        assert!(!allowance.take(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_of_more_tokens_than_a_minutes_waits_for_a_whole_minute() {
        let limits = MinuteLimits {
            requests: None,
            tokens: Some(1_000),
        };
        let allowance = MinuteAllowance::new(&limits).unwrap();
        assert!(allowance.take(600));
        assert!(!allowance.take(600));
        assert_eq!(allowance.wait(600).as_secs(), 12);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(allowance.take(5_000));
        assert!(!allowance.take(1), "it is paid back first");
        assert!(allowance.take(0), "it uses none");
        assert!(MinuteAllowance::new(&MinuteLimits::default()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn another_configuration_does_not_give_a_minute_anew() {
        let limits = |requests, tokens| {
            let limits = MinuteLimits { requests, tokens };
            MinuteAllowance::new(&limits).unwrap()
        };
        let before = limits(Some(2), Some(1_000));
        assert!(before.take(500) && before.take(500));
        let same = limits(Some(2), Some(1_000));
        same.take_over(&before);
        assert_eq!(same.wait(1), before.wait(1));
        assert_eq!(same.wait(1).as_secs(), 30);
        // A limit of which half is used is used by half, whatever it is now.
        tokio::time::advance(Duration::from_secs(30)).await;
        let higher = limits(None, Some(4_000));
        higher.take_over(&same);
        assert_eq!(higher.wait(2_000), Duration::ZERO);
        assert_eq!(higher.wait(3_000).as_secs(), 15);
    }
}
