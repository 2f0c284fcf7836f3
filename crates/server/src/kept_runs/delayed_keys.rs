//! Keys whose runs are not claimed for some time, because their limits are used up for now.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long the runs of a key are left alone, at first and at most.
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(8);

/// Delays of keys, by their ids.
#[derive(Debug, Default)]
pub(super) struct DelayedKeys(HashMap<String, KeyDelay>);

#[derive(Debug, Clone, Copy)]
struct KeyDelay {
    until: Instant,
    /// The length of the next delay.
    next: Duration,
}

impl DelayedKeys {
    /// A run of this key was refused for now. Those that were claimed together are one attempt.
    pub(super) fn delay(&mut self, key: &str, now: Instant) {
        let before = self.0.get(key).copied();
        if before.is_some_and(|before| before.until > now) {
            return;
        }
        let length = before.map_or(FIRST_DELAY, |before| before.next);
        let delay = KeyDelay {
            until: now + length,
            next: (length * 2).min(MAX_DELAY),
        };
        self.0.insert(key.to_owned(), delay);
    }

    /// A run of this key was admitted: its next delay is short again.
    pub(super) fn shorten(&mut self, key: &str) {
        if let Some(delay) = self.0.get_mut(key) {
            delay.next = FIRST_DELAY;
        }
    }

    /// The keys whose runs are to be left alone now.
    pub(super) fn current(&mut self, now: Instant) -> Vec<String> {
        // A key without further refusals is forgotten.
        self.0.retain(|_, delay| delay.until + MAX_DELAY > now);
        let current = self.0.iter().filter(|(_, delay)| delay.until > now);
        current.map(|(key, _)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_tried_less_and_less_often_until_a_run_is_admitted() {
        let mut keys = DelayedKeys::default();
        let mut now = Instant::now();
        let mut try_in_vain = |keys: &mut DelayedKeys| {
            // Several that were claimed together.
            for _ in 0..3 {
                keys.delay("a", now);
            }
            let start = now;
            while !keys.current(now).is_empty() {
                now += Duration::from_millis(500);
            }
            (now - start).as_secs()
        };
        let delays: Vec<u64> = (0..5).map(|_| try_in_vain(&mut keys)).collect();
        assert_eq!(delays, [1, 2, 4, 8, 8]);
        keys.shorten("a");
        assert_eq!(try_in_vain(&mut keys), 1);
        let later = now + MAX_DELAY;
        assert!(keys.current(later).is_empty());
        assert!(keys.0.is_empty(), "and it is forgotten");
    }
}
