//! What is known of recent calls to a model, in memory: how long its responses took to begin,
//! how many calls wait for one, and the last error. Neither texts of errors nor anything of a
//! request is kept.
//!
//! Calls only write counters, so that threads do not wait for one another; errors are rare, and
//! take a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::error::CallError;

/// Weight of the latest response in the average: one part of this many.
const AVERAGE_PARTS: u64 = 8;

/// Counters of one model's calls.
#[derive(Debug, Default)]
pub(crate) struct CallHealth {
    started: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// How long the last response took to begin.
    pub last_latency: Option<Duration>,
    /// The same as a moving average.
    pub average_latency: Option<Duration>,
    /// The last error.
    pub last_error: Option<LastCallError>,
}

/// What is known of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
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
            last_latency: micros(&self.last_micros),
            average_latency: micros(&self.average_micros),
            last_error: last_error.clone(),
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
