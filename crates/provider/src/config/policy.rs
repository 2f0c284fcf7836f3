//! How patient, insistent and crowded calls to a provider may be.

use std::time::Duration;

/// How long to wait. There is no limit on a whole answer: a stream may take hours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderTimeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// From the request until the answer's head. Models that do not stream think first.
    pub response: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
}

impl Default for ProviderTimeouts {
    fn default() -> Self {
        ProviderTimeouts {
            connect: Duration::from_secs(10),
            response: Duration::from_secs(600),
            idle: Duration::from_secs(300),
        }
    }
}

/// How a failed request is sent again; only ever before the first byte of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a request is sent at most; 1 for no second try.
    pub max_attempts: u32,
    /// The pause before the second try; it doubles from try to try.
    pub first_delay: Duration,
    /// The longest pause of our own choosing.
    pub max_delay: Duration,
    /// The longest pause asked for by the upstream (`retry-after`) that is kept; when it
    /// asks for more, its answer is given to the caller instead.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            max_attempts: 3,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(8),
            max_retry_after: Duration::from_secs(30),
        }
    }
}

/// When an upstream that only fails is left alone for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Failures in a row (no answer, or 5xx) until calls are refused; 0 for never.
    pub failures: u32,
    /// How long they are refused before one is let through to see.
    pub pause: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        BreakerPolicy {
            failures: 10,
            pause: Duration::from_secs(15),
        }
    }
}

/// How many calls of a model run and wait at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConcurrencyLimit {
    /// Calls that run; a stream runs until it ends or is dropped.
    pub concurrent: usize,
    /// Calls that wait for a place; more are refused.
    pub queued: usize,
    /// How long a call waits for a place.
    pub wait: Duration,
}

impl ConcurrencyLimit {
    /// At most this many calls at once, and ten times as many waiting up to a minute.
    pub fn new(concurrent: usize) -> Self {
        ConcurrencyLimit {
            concurrent,
            queued: concurrent.saturating_mul(10),
            wait: Duration::from_secs(60),
        }
    }
}
