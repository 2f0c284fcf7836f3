//! Circuit breaker: refuses calls to an upstream that keeps failing, and probes it after
//! a pause. Of a deployment that has others beside it, the pause depends on the failure.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::config;
use crate::deployments::failure_class::{FailureClass, classify};
use crate::deployments::state::MAX_REQUESTED_PAUSE;
use crate::error::CallError;
use crate::health::{BreakerPosition, CallHealth, TargetHealth};

/// A circuit breaker.
#[derive(Debug)]
pub(crate) struct CircuitBreaker {
    provider: String,
    config: config::BreakerPolicy,
    /// Pauses by class of failure, of a deployment that has others beside it.
    cooldown: Option<config::CooldownPolicy>,
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
    /// What it was opened for.
    cause: Option<FailureClass>,
}

/// What a circuit breaker would say to a call now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BreakerStanding {
    /// It lets it through, perhaps as a probe.
    Passing,
    /// It refuses it.
    Refusing {
        /// For how long; zero while a probe is under way.
        retry_in: Duration,
        cause: Option<FailureClass>,
    },
}

/// Permission to make one call. Its outcome must be recorded, otherwise the call does not
/// count.
#[derive(Debug)]
pub(crate) struct BreakerPermit<'a> {
    breaker: &'a CircuitBreaker,
    probe: bool,
    /// Whether the call is made with the client's own key.
    is_client_key: bool,
    started: Instant,
}

impl CircuitBreaker {
    pub(crate) fn new(provider: &str, config: &config::BreakerPolicy) -> Self {
        CircuitBreaker {
            provider: provider.to_owned(),
            config: config.clone(),
            cooldown: None,
            has_failures: AtomicBool::new(false),
            state: Mutex::default(),
            health: CallHealth::default(),
        }
    }

    /// The circuit breaker of a deployment that has others beside it.
    pub(crate) fn with_cooldown(provider: &str, cooldown: &config::CooldownPolicy) -> Self {
        let policy = config::BreakerPolicy {
            failures: cooldown.failures,
            pause: cooldown.server_error,
        };
        CircuitBreaker {
            cooldown: Some(cooldown.clone()),
            ..CircuitBreaker::new(provider, &policy)
        }
    }

    /// When it opens, and for how long.
    pub(crate) fn policy(&self) -> &config::BreakerPolicy {
        &self.config
    }

    /// Its pauses by class of failure.
    pub(crate) fn cooldown(&self) -> Option<&config::CooldownPolicy> {
        self.cooldown.as_ref()
    }

    /// What it would say to a call now.
    pub(crate) fn standing(&self) -> BreakerStanding {
        if !self.has_failures.load(Ordering::Acquire) {
            return BreakerStanding::Passing;
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match state.open_until {
            None => BreakerStanding::Passing,
            Some(until) if until <= now && !state.probing => BreakerStanding::Passing,
            Some(until) => BreakerStanding::Refusing {
                retry_in: until.saturating_duration_since(now),
                cause: state.cause,
            },
        }
    }

    /// What it was opened for and how long it stays so, if it is open for a known class of
    /// failure.
    pub(crate) fn cooling(&self) -> Option<(&'static str, Duration)> {
        match self.standing() {
            BreakerStanding::Refusing { retry_in, cause } => Some((cause?.as_str(), retry_in)),
            BreakerStanding::Passing => None,
        }
    }

    /// Goes on where an earlier one is. A probe that is under way is left to it.
    pub(crate) fn take_over(&self, previous: &CircuitBreaker) {
        self.health.take_over(&previous.health);
        let before = previous
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let taken = BreakerState {
            failures: before.failures,
            open_until: before.open_until,
            probing: false,
            cause: before.cause,
        };
        drop(before);
        let failed = taken.failures > 0 || taken.open_until.is_some();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = taken;
        self.has_failures.store(failed, Ordering::Release);
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
            is_client_key: false,
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

    /// Whether it was opened for a failure of a key or its account.
    fn is_open_for_the_account(&self) -> bool {
        if !self.has_failures.load(Ordering::Acquire) {
            return false;
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open_until.is_some() && state.cause.is_some_and(is_of_the_account)
    }

    /// Records a failure by its class.
    fn record_class(&self, policy: &config::CooldownPolicy, error: &CallError) {
        let class = classify(error);
        let pause = match class {
            FailureClass::RateLimited => {
                let requested = error.retry_after().unwrap_or(policy.rate_limited);
                requested.min(MAX_REQUESTED_PAUSE)
            }
            FailureClass::Timeout => policy.timeout,
            FailureClass::Auth => policy.auth,
            FailureClass::ServerError => Duration::ZERO,
            // The upstream has answered.
            FailureClass::ContextOverflow
            | FailureClass::ContentFilter
            | FailureClass::StoredElsewhere
            | FailureClass::Other => return self.record(false),
        };
        self.record(true);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !pause.is_zero() {
            state.open_until = Some(Instant::now() + pause);
        }
        state.cause = Some(class);
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
    /// For a call that may be made with the client's own key. What is wrong with that key or its
    /// account says nothing about calls with another: no client can have a deployment passed
    /// over for all others. Nor does it show that the operator's key works again.
    pub(crate) fn with_client_key(mut self, is_client_key: bool) -> Self {
        self.is_client_key = is_client_key;
        self
    }

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
        if self.is_client_key {
            let is_of_the_clients =
                matches!(outcome, Err(error) if is_of_the_account(classify(error)));
            if is_of_the_clients || (!failed && self.breaker.is_open_for_the_account()) {
                return;
            }
        }
        if let (Some(policy), Err(error)) = (&self.breaker.cooldown, outcome) {
            return self.breaker.record_class(policy, error);
        }
        self.breaker.record(failed);
    }
}

/// Whether a failure is of the key or its account, and not of the server.
fn is_of_the_account(class: FailureClass) -> bool {
    matches!(class, FailureClass::RateLimited | FailureClass::Auth)
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
mod tests;
