//! How often an address may fail before it has to wait to try a master key, which is what somebody
//! chose. Other keys cannot be guessed, so they do not wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failed attempts of one address in a window.
const MAX_FAILURES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses that are tracked. When there are more, those whose window is over are dropped, and
/// if none is, all new addresses share one window.
const MAX_TRACKED: usize = 10_000;

/// The failed attempts of each address in its current window. Behind a proxy all have the
/// proxy's address.
#[derive(Default)]
pub(crate) struct SignInAttempts(Mutex<HashMap<Option<IpAddr>, Window>>);

struct Window {
    began: Instant,
    failures: u32,
}

impl SignInAttempts {
    /// Fails with the seconds until the address may try again.
    pub(super) fn check(&self, address: Option<IpAddr>) -> Result<(), u64> {
        self.check_at(address, Instant::now())
    }

    pub(super) fn record_failure(&self, address: Option<IpAddr>) {
        self.record_failure_at(address, Instant::now());
    }

    fn check_at(&self, address: Option<IpAddr>, now: Instant) -> Result<(), u64> {
        let windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = windows.len() >= MAX_TRACKED;
        let window = windows.get(&address);
        let window = window.or_else(|| windows.get(&None).filter(|_| is_full));
        let Some(window) = window.filter(|window| window.failures >= MAX_FAILURES) else {
            return Ok(());
        };
        let left = WINDOW.saturating_sub(now.duration_since(window.began));
        match left.as_secs() {
            0 => Ok(()),
            seconds => Err(seconds),
        }
    }

    fn record_failure_at(&self, address: Option<IpAddr>, now: Instant) {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut address = address;
        if windows.len() >= MAX_TRACKED && !windows.contains_key(&address) {
            windows.retain(|_, window| now.duration_since(window.began) < WINDOW);
            if windows.len() >= MAX_TRACKED {
                address = None;
            }
        }
        let window = windows.entry(address).or_insert(Window {
            began: now,
            failures: 0,
        });
        if now.duration_since(window.began) >= WINDOW {
            (window.began, window.failures) = (now, 0);
        }
        window.failures = window.failures.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> Option<IpAddr> {
        Some(IpAddr::from(number.to_be_bytes()))
    }

    #[test]
    fn an_address_that_fails_too_often_waits_and_others_do_not() {
        let attempts = SignInAttempts::default();
        let now = Instant::now();
        for _ in 0..MAX_FAILURES {
            assert!(attempts.check_at(address(1), now).is_ok());
            attempts.record_failure_at(address(1), now);
        }
        assert_eq!(attempts.check_at(address(1), now), Err(60));
        assert!(attempts.check_at(address(2), now).is_ok());
        assert!(attempts.check_at(address(1), now + WINDOW).is_ok());
    }

    #[test]
    fn many_addresses_take_no_more_memory_and_do_not_get_around_the_limit() {
        let attempts = SignInAttempts::default();
        let now = Instant::now();
        for number in 0..(MAX_TRACKED as u32 + 2 * MAX_FAILURES) {
            attempts.record_failure_at(address(number), now);
        }
        let tracked = attempts.0.lock().unwrap().len();
        assert!(tracked <= MAX_TRACKED + 1, "{tracked}");
        assert!(attempts.check_at(address(u32::MAX), now).is_err());
        assert!(attempts.check_at(address(5), now).is_ok(), "tracked before");
    }
}
