//! A rate limit: so much per minute, and at most a minute's worth at once.

use std::time::Duration;

use tokio::time::Instant;

const MINUTE_SECONDS: f64 = 60.0;
/// Minutes whose worth can be overdrawn: what an upstream counts may be any number.
const MAX_OVERDRAWN_MINUTES: f64 = 24.0 * 60.0;

/// The remaining amount of a rate. May be overdrawn: what a request used is known only at its
/// end, and may be more than estimated.
#[derive(Debug)]
pub(super) struct Bucket {
    level: f64,
    at: Instant,
}

impl Bucket {
    /// Without a rate yet: whichever comes first begins full.
    pub(super) fn full(now: Instant, per_minute: Option<f64>) -> Bucket {
        Bucket {
            level: per_minute.unwrap_or(f64::INFINITY),
            at: now,
        }
    }

    /// How long until `least` is available; none when it is now.
    pub(super) fn wait_for(
        &mut self,
        now: Instant,
        per_minute: f64,
        least: f64,
    ) -> Option<Duration> {
        self.refill(now, per_minute);
        if self.level >= least {
            return None;
        }
        let missing = least - self.level;
        Some(Duration::from_secs_f64(
            missing * MINUTE_SECONDS / per_minute,
        ))
    }

    pub(super) fn take(&mut self, amount: f64) {
        self.level -= amount;
    }

    /// Takes what was used elsewhere. What has come back since is added first: otherwise what is
    /// taken from a full rate would come back at once.
    pub(super) fn take_at(&mut self, now: Instant, per_minute: f64, amount: f64) {
        self.refill(now, per_minute);
        self.take(amount);
    }

    /// Has no more left than this.
    pub(super) fn lower_to(&mut self, now: Instant, per_minute: f64, level: f64) {
        self.refill(now, per_minute);
        self.level = self.level.min(level);
    }

    /// What is left.
    pub(super) fn level(&mut self, now: Instant, per_minute: f64) -> f64 {
        self.refill(now, per_minute);
        self.level
    }

    fn refill(&mut self, now: Instant, per_minute: f64) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        let least = -per_minute * MAX_OVERDRAWN_MINUTES;
        let level = self.level.max(least) + passed * per_minute / MINUTE_SECONDS;
        self.level = level.min(per_minute);
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minutes_worth_may_be_used_at_once_and_comes_back_over_a_minute() {
        let now = Instant::now();
        let mut bucket = Bucket::full(now, Some(2.0));
        for _ in 0..2 {
            assert_eq!(bucket.wait_for(now, 2.0, 1.0), None);
            bucket.take(1.0);
        }
        let wait = bucket.wait_for(now, 2.0, 1.0).unwrap();
        assert_eq!(wait.as_secs(), 30);
        assert_eq!(bucket.wait_for(now + wait, 2.0, 1.0), None);
    }

    #[test]
    fn what_is_overdrawn_must_be_made_up_for() {
        let now = Instant::now();
        let mut bucket = Bucket::full(now, Some(60.0));
        assert_eq!(bucket.wait_for(now, 60.0, 1.0), None);
        bucket.take(180.0);
        let wait = bucket.wait_for(now, 60.0, 1.0).unwrap();
        assert_eq!(wait.as_secs(), 121);
        assert_eq!(bucket.wait_for(now + wait, 60.0, 1.0), None);
    }

    #[test]
    fn no_number_of_tokens_is_to_be_made_up_for_longer_than_a_day() {
        let now = Instant::now();
        let mut bucket = Bucket::full(now, Some(1.0));
        bucket.take(u64::MAX as f64);
        let wait = bucket.wait_for(now, 1.0, 1.0).unwrap();
        assert_eq!(wait.as_secs(), 24 * 3_600 + 60);
    }
}
