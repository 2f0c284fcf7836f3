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
    /// Whether the name of the deployment's model is a pattern (`*`), so that clients choose the
    /// model.
    has_pattern: bool,
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
            has_pattern: false,
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

    /// The same for a deployment whose model's name is a pattern, or is not.
    pub(crate) fn with_pattern(mut self, has_pattern: bool) -> Self {
        self.has_pattern = has_pattern;
        self
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

    /// The class of a failure. If clients choose the model, that one does not exist is no fault of
    /// the deployment.
    fn classify(&self, error: &CallError) -> FailureClass {
        match classify(error) {
            FailureClass::ModelNotFound if self.has_pattern => FailureClass::Other,
            class => class,
        }
    }

    /// Records a failure by its class.
    fn record_class(&self, policy: &config::CooldownPolicy, error: &CallError) {
        let class = self.classify(error);
        let pause = match class {
            FailureClass::RateLimited => {
                let requested = error.retry_after().unwrap_or(policy.rate_limited);
                requested.min(MAX_REQUESTED_PAUSE)
            }
            FailureClass::Timeout => policy.timeout,
            FailureClass::Auth | FailureClass::ModelNotFound => policy.auth,
            FailureClass::ServerError => Duration::ZERO,
            // The upstream has answered.
            FailureClass::ContextOverflow
            | FailureClass::ContentFilter
            | FailureClass::StoredElsewhere
            | FailureClass::Other => return self.record_answer(),
        };
        self.record_failure(pause, Some(class));
    }

    /// Records that the upstream has answered.
    fn record_answer(&self) {
        if !self.has_failures.load(Ordering::Acquire) {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_failures.store(false, Ordering::Release);
        *state = BreakerState::default();
    }

    /// Records a failure. The pause is that of its class; without one, there is a pause after
    /// several failures in a row.
    fn record_failure(&self, pause: Duration, class: Option<FailureClass>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_failures.store(true, Ordering::Release);
        state.failures = state.failures.saturating_add(1);
        let in_a_row = self.config.failures > 0 && state.failures >= self.config.failures;
        let pause = match pause.is_zero() {
            true if in_a_row => self.config.pause,
            true => return,
            false => pause,
        };
        let until = Instant::now() + pause;
        // Calls that began before the pause may fail after it has begun, for another reason: a
        // longer pause is not shortened by them.
        if state.open_until.is_none_or(|before| before < until) {
            state.open_until = Some(until);
            state.cause = class;
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
        let is_account_failure =
            matches!(outcome, Err(error) if is_of_the_account(self.breaker.classify(error)));
        if is_account_failure && self.is_client_key {
            return;
        }
        // That the account works again is only shown by a call with its key that began after the
        // pause: others may have begun before its limit was reached.
        let is_answered = !failed && !is_account_failure;
        let is_trial = self.probe && !self.is_client_key;
        if is_answered && !is_trial && self.breaker.is_open_for_the_account() {
            return;
        }
        match (&self.breaker.cooldown, outcome) {
            (Some(policy), Err(error)) => self.breaker.record_class(policy, error),
            _ if failed => self.breaker.record_failure(Duration::ZERO, None),
            _ => self.breaker.record_answer(),
        }
    }
}

/// Whether a failure is of the key or its account, and not of the server.
fn is_of_the_account(class: FailureClass) -> bool {
    matches!(
        class,
        FailureClass::RateLimited | FailureClass::Auth | FailureClass::ModelNotFound
    )
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
