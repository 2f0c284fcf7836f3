//! Retries of failed requests.

use std::time::Duration;

use crate::config::RetryPolicy;
use crate::error::CallError;

/// The retries of one call. An attempt must not have sent anything to the client when it
/// fails: retries happen only before the first byte.
#[derive(Debug)]
pub(crate) struct RetryState<'a> {
    retry: &'a RetryPolicy,
    attempts: u32,
}

/// For a deployment that has others beside it: they are called instead.
static ONCE: RetryPolicy = RetryPolicy {
    max_attempts: 1,
    first_delay: Duration::ZERO,
    max_delay: Duration::ZERO,
    max_retry_after: Duration::ZERO,
};

impl RetryState<'static> {
    /// A call that is made once.
    pub(crate) fn once() -> Self {
        RetryState::new(&ONCE)
    }
}

impl<'a> RetryState<'a> {
    pub(crate) fn new(retry: &'a RetryPolicy) -> Self {
        RetryState { retry, attempts: 1 }
    }

    /// Waits before the next attempt; returns the error if it is final.
    pub(crate) async fn wait_before_retry(&mut self, error: CallError) -> Result<(), CallError> {
        let Some(pause) = retry_delay(self.retry, self.attempts, &error) else {
            return Err(error);
        };
        tracing::debug!(attempt = self.attempts, ?pause, %error, "retrying a failed call");
        tokio::time::sleep(pause).await;
        self.attempts += 1;
        Ok(())
    }
}

/// The delay before the next attempt; `None` if there is none.
pub(crate) fn retry_delay(
    retry: &RetryPolicy,
    attempts: u32,
    error: &CallError,
) -> Option<Duration> {
    if attempts >= retry.max_attempts || !error.is_retryable() {
        return None;
    }
    if let Some(requested) = error.retry_after() {
        return (requested <= retry.max_retry_after).then_some(requested);
    }
    let doubled = retry
        .first_delay
        .saturating_mul(2u32.saturating_pow(attempts - 1))
        .min(retry.max_delay);
    // Clients that failed together should not retry together.
    Some(doubled.mul_f64(0.75 + 0.25 * fastrand::f64()))
}

#[cfg(test)]
mod tests {
    use prowess_wire::neutral::{ApiError, ErrorKind};
    use tokio::time::Instant;

    use super::*;

    fn upstream(status: u16, retry_after: Option<u64>, should_retry: Option<bool>) -> CallError {
        CallError::Upstream {
            provider: "acme".to_owned(),
            error: Box::new(ApiError {
                status,
                ..ApiError::new(ErrorKind::from_status(status), "no")
            }),
            retry_after: retry_after.map(Duration::from_secs),
            should_retry,
        }
    }

    /// Makes attempts that all fail alike; returns how many there were and how long they
    /// took.
    async fn failing(error: CallError) -> (u32, f64) {
        let retry = RetryPolicy::default();
        let start = Instant::now();
        let mut tries = RetryState::new(&retry);
        while tries.wait_before_retry(error.clone()).await.is_ok() {}
        (tries.attempts, start.elapsed().as_secs_f64())
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_and_attempts_are_counted() {
        let (attempts, took) = failing(upstream(500, None, None)).await;
        assert_eq!(attempts, 3);
        // 500 ms and 1 s, each shortened by at most a quarter.
        assert!((1.125..=1.51).contains(&took), "{took}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_requested_pause_is_kept_unless_it_is_too_long() {
        let (attempts, took) = failing(upstream(429, Some(7), None)).await;
        assert_eq!((attempts, took.round()), (3, 14.0));
        assert_eq!(failing(upstream(429, Some(31), None)).await.0, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_will_not_get_better_is_not_tried_again() {
        for error in [
            upstream(400, None, None),
            upstream(401, None, None),
            upstream(409, None, None),
            upstream(501, None, None),
            upstream(503, None, Some(false)),
        ] {
            assert_eq!(failing(error.clone()).await.0, 1, "{error}");
        }
        assert_eq!(failing(upstream(529, None, None)).await.0, 3);
        assert_eq!(failing(upstream(409, None, Some(true))).await.0, 3);
    }
}
