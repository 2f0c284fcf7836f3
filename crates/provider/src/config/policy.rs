//! Timeouts, retries, circuit breaker and concurrency of calls to a provider.

use std::time::Duration;

/// Timeouts. There is no limit on a whole response: a stream may take hours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderTimeouts {
    /// Until the connection is established.
    pub connect: Duration,
    /// From the request to the response headers. Models that do not stream think first.
    pub response: Duration,
    /// Between two chunks of a response.
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

/// Retries of a failed request; only ever before the first byte of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of attempts; 1 for no retry.
    pub max_attempts: u32,
    /// The delay before the first retry; it doubles with each retry.
    pub first_delay: Duration,
    /// The longest delay that Prowess chooses itself.
    pub max_delay: Duration,
    /// The longest delay requested by the upstream (`retry-after`) that is honoured; if
    /// it requests more, its response is returned to the client instead.
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

/// When to stop calling an upstream that keeps failing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Consecutive failures (no response, or 5xx) that open the circuit breaker; 0 for
    /// never.
    pub failures: u32,
    /// How long calls are refused before one probe is let through.
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

/// How many calls of a model may run and wait at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConcurrencyLimit {
    /// Calls that run; a stream runs until it ends or is dropped.
    pub concurrent: usize,
    /// Calls that wait for a permit; more are refused, except those of owners (tenants) that have
    /// few waiting: with them, up to twice as many wait.
    pub queued: usize,
    /// How long a call waits for a permit.
    pub wait: Duration,
}

impl ConcurrencyLimit {
    /// At most this many concurrent calls, and ten times as many waiting for up to a
    /// minute.
    pub fn new(concurrent: usize) -> Self {
        ConcurrencyLimit {
            concurrent,
            queued: concurrent.saturating_mul(10),
            wait: Duration::from_secs(60),
        }
    }
}
