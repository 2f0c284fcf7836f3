//! Limits how many calls of a model run at the same time, and how many may wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::ConcurrencyLimit;
use crate::deployments::state::RunningCall;
use crate::error::CallError;

/// A permit for a running call; released when dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "held for its drop")]
pub(crate) struct CallPermit {
    pub(crate) place: Option<OwnedSemaphorePermit>,
    /// Of a deployment, whose running calls are counted.
    pub(crate) running: Option<RunningCall>,
}

/// The concurrency limit of a model.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimiter {
    model: String,
    limit: ConcurrencyLimit,
    semaphore: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl ConcurrencyLimiter {
    pub(crate) fn new(model: &str, limit: ConcurrencyLimit) -> Self {
        let places = limit.concurrent.min(Semaphore::MAX_PERMITS);
        ConcurrencyLimiter {
            model: model.to_owned(),
            limit,
            semaphore: Arc::new(Semaphore::new(places)),
            waiting: AtomicUsize::new(0),
        }
    }

    /// What it allows.
    pub(crate) fn limit(&self) -> &ConcurrencyLimit {
        &self.limit
    }

    /// Whether a call would have to wait.
    pub(crate) fn is_saturated(&self) -> bool {
        self.semaphore.available_permits() == 0
    }

    /// Acquires a permit, in order of arrival.
    pub(crate) async fn acquire(&self) -> Result<OwnedSemaphorePermit, CallError> {
        if let Ok(permit) = Arc::clone(&self.semaphore).try_acquire_owned() {
            return Ok(permit);
        }
        let queue = QueueGuard::join(&self.waiting);
        if queue.position > self.limit.queued {
            return Err(self.busy_error());
        }
        let place = Arc::clone(&self.semaphore).acquire_owned();
        match tokio::time::timeout(self.limit.wait, place).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphore is never closed, so this is the timeout.
            _ => Err(self.busy_error()),
        }
    }

    fn busy_error(&self) -> CallError {
        CallError::Busy {
            model: self.model.clone(),
            running: self.limit.concurrent,
            waiting: self.waiting.load(Ordering::Relaxed).saturating_sub(1),
        }
    }
}

/// A waiting call; it leaves the queue when dropped, also when its client gave up.
struct QueueGuard<'a> {
    waiting: &'a AtomicUsize,
    position: usize,
}

impl<'a> QueueGuard<'a> {
    fn join(waiting: &'a AtomicUsize) -> Self {
        let position = waiting.fetch_add(1, Ordering::Relaxed) + 1;
        QueueGuard { waiting, position }
    }
}

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limiter(concurrent: usize, queued: usize) -> Arc<ConcurrencyLimiter> {
        let wait = Duration::from_secs(5);
        Arc::new(ConcurrencyLimiter::new(
            "m",
            ConcurrencyLimit {
                concurrent,
                queued,
                wait,
            },
        ))
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_a_place_and_the_queue_is_bounded() {
        let limiter = limiter(1, 1);
        let first = limiter.acquire().await.unwrap();
        let second = tokio::spawn({
            let limiter = Arc::clone(&limiter);
            async move { limiter.acquire().await }
        });
        tokio::task::yield_now().await;
        let refused = limiter.acquire().await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "m is busy: 1 calls are running and 1 are waiting; try again later"
        );
        drop(first);
        drop(second.await.unwrap().unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_does_not_wait_for_ever() {
        let limiter = limiter(1, 10);
        let _running = limiter.acquire().await.unwrap();
        assert_eq!(limiter.acquire().await.unwrap_err().code(), "model-busy");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_gives_up_leaves_the_queue() {
        let limiter = limiter(1, 1);
        let _running = limiter.acquire().await.unwrap();
        let gave_up = tokio::time::timeout(Duration::from_secs(1), limiter.acquire()).await;
        assert!(gave_up.is_err());
        assert_eq!(limiter.waiting.load(Ordering::Relaxed), 0);
    }
}
