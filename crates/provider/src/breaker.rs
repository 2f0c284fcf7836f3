//! Circuit breaker: refuses calls to an upstream that keeps failing, and probes it after
//! a pause.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use crate::config;
use crate::error::CallError;
use crate::health::{BreakerPosition, CallHealth, TargetHealth};

/// A circuit breaker.
#[derive(Debug)]
pub(crate) struct CircuitBreaker {
    provider: String,
    config: config::BreakerPolicy,
    /// Whether the state holds any failures. Calls to a healthy upstream read only this
    /// flag: writing the state on each call would make all threads wait for one another.
    has_failures: AtomicBool,
    state: Mutex<BreakerState>,
    health: CallHealth,
}

#[derive(Debug, Default)]
struct BreakerState {
    failures: u32,
    /// Until when calls are refused; set once there are too many failures.
    open_until: Option<Instant>,
    /// Whether a probe call is in progress to see if the upstream has recovered.
    probing: bool,
}

/// Permission to make one call. Its outcome must be recorded, otherwise the call does not
/// count.
#[derive(Debug)]
pub(crate) struct BreakerPermit<'a> {
    breaker: &'a CircuitBreaker,
    probe: bool,
    started: Instant,
}

impl CircuitBreaker {
    pub(crate) fn new(provider: &str, config: &config::BreakerPolicy) -> Self {
        CircuitBreaker {
            provider: provider.to_owned(),
            config: config.clone(),
            has_failures: AtomicBool::new(false),
            state: Mutex::default(),
            health: CallHealth::default(),
        }
    }

    /// What is known of the calls that it let through.
    pub(crate) fn health(&self) -> TargetHealth {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let breaker = match state.open_until {
            None => BreakerPosition::Closed,
            Some(until) if until > now => BreakerPosition::Open {
                retry_in: until.duration_since(now),
            },
            Some(_) => BreakerPosition::HalfOpen,
        };
        let failures = state.failures;
        drop(state);
        self.health.snapshot(breaker, failures)
    }

    fn permit(&self, probe: bool) -> BreakerPermit<'_> {
        self.health.begin();
        BreakerPermit {
            breaker: self,
            probe,
            started: Instant::now(),
        }
    }

    /// Requests permission to make a call.
    pub(crate) fn acquire(&self) -> Result<BreakerPermit<'_>, CallError> {
        if !self.has_failures.load(Ordering::Acquire) {
            return Ok(self.permit(false));
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let probe = match state.open_until {
            None => false,
            Some(until) if until <= Instant::now() && !state.probing => true,
            Some(until) => {
                return Err(CallError::CircuitOpen {
                    provider: self.provider.clone(),
                    failures: state.failures,
                    retry_in: until.saturating_duration_since(Instant::now()),
                });
            }
        };
        state.probing = probe;
        Ok(self.permit(probe))
    }

    fn record(&self, failed: bool) {
        if !failed && !self.has_failures.load(Ordering::Acquire) {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_failures.store(failed, Ordering::Release);
        if !failed {
            *state = BreakerState::default();
            return;
        }
        state.failures = state.failures.saturating_add(1);
        if self.config.failures > 0 && state.failures >= self.config.failures {
            state.open_until = Some(Instant::now() + self.config.pause);
        }
    }
}

impl BreakerPermit<'_> {
    /// Records the outcome of the call.
    pub(crate) fn record_outcome<T>(self, outcome: &Result<T, CallError>) {
        let failed = match outcome {
            Ok(_) => false,
            Err(error) => error.is_upstream_failure(),
        };
        let health = &self.breaker.health;
        match outcome {
            Ok(_) => health.record_latency(self.started.elapsed()),
            Err(error) => health.record_error(error),
        }
        self.breaker.record(failed);
    }
}

impl Drop for BreakerPermit<'_> {
    fn drop(&mut self) {
        self.breaker.health.end();
        // A cancelled probe lets the next one through.
        if self.probe {
            let state = &self.breaker.state;
            state.lock().unwrap_or_else(PoisonError::into_inner).probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn breaker() -> CircuitBreaker {
        let config = config::BreakerPolicy {
            failures: 2,
            pause: Duration::from_secs(10),
        };
        CircuitBreaker::new("acme", &config)
    }

    fn unreachable_outcome() -> Result<(), CallError> {
        Err(CallError::Unreachable {
            provider: "acme".to_owned(),
            reason: "down".to_owned(),
        })
    }

    #[tokio::test(start_paused = true)]
    async fn after_failures_in_a_row_calls_are_refused_until_one_succeeds() {
        let breaker = breaker();
        breaker
            .acquire()
            .unwrap()
            .record_outcome(&unreachable_outcome());
        breaker.acquire().unwrap().record_outcome(&Ok(()));
        breaker
            .acquire()
            .unwrap()
            .record_outcome(&unreachable_outcome());
        breaker
            .acquire()
            .unwrap()
            .record_outcome(&unreachable_outcome());
        let refused = breaker.acquire().unwrap_err();
        assert_eq!(refused.retry_after(), Some(Duration::from_secs(10)));

        tokio::time::advance(Duration::from_secs(10)).await;
        let probe = breaker.acquire().unwrap();
        assert_eq!(
            breaker.acquire().unwrap_err().code(),
            "upstream-circuit-open"
        );
        probe.record_outcome(&unreachable_outcome());
        assert!(breaker.acquire().is_err());

        tokio::time::advance(Duration::from_secs(10)).await;
        breaker.acquire().unwrap().record_outcome(&Ok(()));
        breaker.acquire().unwrap();
        breaker.acquire().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_probe_lets_the_next_one_through() {
        let breaker = breaker();
        breaker
            .acquire()
            .unwrap()
            .record_outcome(&unreachable_outcome());
        breaker
            .acquire()
            .unwrap()
            .record_outcome(&unreachable_outcome());
        tokio::time::advance(Duration::from_secs(10)).await;
        drop(breaker.acquire().unwrap());
        breaker.acquire().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn errors_of_the_request_are_no_failures_of_the_upstream() {
        let breaker = breaker();
        for _ in 0..5 {
            let busy: Result<(), _> = Err(CallError::Busy {
                model: String::new(),
                running: 0,
                waiting: 0,
            });
            breaker.acquire().unwrap().record_outcome(&busy);
        }
        breaker.acquire().unwrap();
    }
}
