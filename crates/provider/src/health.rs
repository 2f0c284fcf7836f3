//! What is known of recent calls to a model, in memory: how long its responses took to begin,
//! how many calls wait for one, and the last error. Neither texts of errors nor anything of a
//! request is kept.
//!
//! Calls only write counters, so that threads do not wait for one another; errors are rare, and
//! take a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::deployments::failure_class::{FailureClass, classify};
use crate::error::CallError;

/// Weight of the latest response in the average: one part of this many.
const AVERAGE_PARTS: u64 = 8;

/// Counters of one model's calls.
#[derive(Debug, Default)]
pub(crate) struct CallHealth {
    started: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
    /// The same by class, in the order of [`FailureClass::ALL`].
    failed_by_class: [AtomicU64; FailureClass::ALL.len()],
    last_micros: AtomicU64,
    average_micros: AtomicU64,
    last_error: Mutex<Option<LastCallError>>,
}

/// The last error of a model's calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastCallError {
    /// Its code, as in [`CallError::code`].
    pub code: &'static str,
    /// The status that the upstream sent, if it sent a response.
    pub status: Option<u16>,
    /// When.
    pub at: SystemTime,
}

/// Whether calls are let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerPosition {
    /// All are.
    Closed,
    /// None are, for this long.
    Open {
        /// Until then.
        retry_in: Duration,
    },
    /// One is, to find out whether the upstream has recovered.
    HalfOpen,
}

impl BreakerPosition {
    /// `closed`, `open` or `half_open`.
    pub fn as_str(self) -> &'static str {
        match self {
            BreakerPosition::Closed => "closed",
            BreakerPosition::Open { .. } => "open",
            BreakerPosition::HalfOpen => "half_open",
        }
    }
}

/// What is known of the calls to a model, or to those of a provider's models that have no entry
/// of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetHealth {
    /// The name of the model's entry; `None` for a provider's other models.
    pub model: Option<String>,
    /// Its circuit breaker.
    pub breaker: BreakerPosition,
    /// Failures of the upstream since its last success.
    pub consecutive_failures: u32,
    /// Calls that wait for the beginning of a response.
    pub in_flight: u64,
    /// Attempts since the start.
    pub attempts: u64,
    /// Those that failed.
    pub failed: u64,
    /// The same by class, such as `rate_limited` or `timeout`; only those that happened.
    pub failures: Vec<(&'static str, u64)>,
    /// How long the last response took to begin.
    pub last_latency: Option<Duration>,
    /// The same as a moving average.
    pub average_latency: Option<Duration>,
    /// The last error.
    pub last_error: Option<LastCallError>,
    /// What is known of it as one of several deployments.
    pub deployment: Option<DeploymentHealth>,
}

/// What is known of one of several deployments of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct DeploymentHealth {
    /// The model, as the provider calls it.
    pub upstream_model: String,
    /// Its weight.
    pub weight: u32,
    /// How often it was chosen since the start.
    pub chosen: u64,
    /// Its part of all choices of the model, from 0 to 1.
    pub share: f64,
    /// Calls that run or wait; a stream runs until it ends.
    pub running: u64,
    /// The moving average of the time until a response begins.
    pub latency: Option<Duration>,
    /// Why it is passed over: `rate_limited`, `server_error`, `timeout` or `auth`.
    pub cooldown: Option<&'static str>,
    /// For how long, if that is known.
    pub cooldown_left: Option<Duration>,
}

/// What is known of a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderHealth {
    /// Its name.
    pub name: String,
    /// Its kind, as configuration files name it.
    pub kind: &'static str,
    /// Its models that have an entry, and the others together.
    pub targets: Vec<TargetHealth>,
}

impl CallHealth {
    pub(crate) fn begin(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Concurrent calls may overwrite each other's part of the average, which is no loss.
    pub(crate) fn record_latency(&self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        let micros = micros.max(1);
        self.last_micros.store(micros, Ordering::Relaxed);
        let average = match self.average_micros.load(Ordering::Relaxed) {
            0 => micros,
            before => before - before / AVERAGE_PARTS + micros / AVERAGE_PARTS,
        };
        self.average_micros.store(average.max(1), Ordering::Relaxed);
    }

    pub(crate) fn record_error(&self, error: &CallError) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        if let Some(counter) = self.failed_by_class.get(classify(error) as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let status = match error {
            CallError::Upstream { error, .. } => Some(error.status),
            _ => None,
        };
        let last = LastCallError {
            code: error.code(),
            status,
            at: SystemTime::now(),
        };
        let mut slot = self
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *slot = Some(last);
    }

    /// Goes on where an earlier one is. Its calls that are under way end there.
    pub(crate) fn take_over(&self, previous: &CallHealth) {
        let copy = |to: &AtomicU64, from: &AtomicU64| {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        };
        copy(&self.started, &previous.started);
        copy(&self.ended, &previous.started);
        copy(&self.failed, &previous.failed);
        let classes = self.failed_by_class.iter().zip(&previous.failed_by_class);
        classes.for_each(|(to, from)| copy(to, from));
        copy(&self.last_micros, &previous.last_micros);
        copy(&self.average_micros, &previous.average_micros);
        let last = previous.last_error.lock();
        let last = last.unwrap_or_else(PoisonError::into_inner).clone();
        *self
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = last;
    }

    fn failures_by_class(&self) -> Vec<(&'static str, u64)> {
        let classes = FailureClass::ALL.into_iter().zip(&self.failed_by_class);
        let counted = classes.map(|(class, counter)| {
            let count = counter.load(Ordering::Relaxed);
            (class.as_str(), count)
        });
        counted.filter(|(_, count)| *count > 0).collect()
    }

    pub(crate) fn snapshot(&self, breaker: BreakerPosition, failures: u32) -> TargetHealth {
        let micros = |counter: &AtomicU64| match counter.load(Ordering::Relaxed) {
            0 => None,
            micros => Some(Duration::from_micros(micros)),
        };
        // Read first: calls that begin meanwhile must not look ended.
        let ended = self.ended.load(Ordering::Relaxed);
        let started = self.started.load(Ordering::Relaxed);
        let last_error = self
            .last_error
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        TargetHealth {
            model: None,
            breaker,
            consecutive_failures: failures,
            in_flight: started.saturating_sub(ended),
            attempts: started,
            failed: self.failed.load(Ordering::Relaxed),
            failures: self.failures_by_class(),
            last_latency: micros(&self.last_micros),
            average_latency: micros(&self.average_micros),
            last_error: last_error.clone(),
            deployment: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_moves_toward_what_is_measured() {
        let health = CallHealth::default();
        health.record_latency(Duration::from_millis(80));
        health.record_latency(Duration::from_millis(160));
        let seen = health.snapshot(BreakerPosition::Closed, 0);
        assert_eq!(seen.last_latency, Some(Duration::from_millis(160)));
        assert_eq!(seen.average_latency, Some(Duration::from_millis(90)));
    }

    #[test]
    fn an_error_is_kept_as_its_code_without_its_text() {
        let health = CallHealth::default();
        health.begin();
        health.begin();
        health.record_error(&CallError::Unreachable {
            provider: "acme".to_owned(),
            reason: "a secret of the address".to_owned(),
        });
        health.end();
        let seen = health.snapshot(BreakerPosition::HalfOpen, 3);
        assert_eq!((seen.in_flight, seen.attempts, seen.failed), (1, 2, 1));
        assert!(!format!("{seen:?}").contains("secret"));
        assert_eq!(
            seen.last_error.map(|error| error.code),
            Some("upstream-unreachable")
        );
    }
}
