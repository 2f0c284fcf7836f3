//! How many calls of a model run at once, and how many may wait for a place.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Limit;
use crate::error::CallError;

/// A place among the running calls; free again when dropped.
#[derive(Debug)]
pub(crate) struct Permit(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

/// The places of a model.
#[derive(Debug)]
pub(crate) struct Limiter {
    model: String,
    limit: Limit,
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Limiter {
    pub(crate) fn new(model: &str, limit: Limit) -> Self {
        let places = limit.concurrent.min(Semaphore::MAX_PERMITS);
        Limiter {
            model: model.to_owned(),
            limit,
            places: Arc::new(Semaphore::new(places)),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Takes a place, waiting for one in order of arrival.
    pub(crate) async fn enter(&self) -> Result<Permit, CallError> {
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(Permit(permit));
        }
        let queue = Queued::join(&self.waiting);
        if queue.place > self.limit.queued {
            return Err(self.busy());
        }
        let place = Arc::clone(&self.places).acquire_owned();
        match tokio::time::timeout(self.limit.wait, place).await {
            Ok(Ok(permit)) => Ok(Permit(permit)),
            // The semaphore is never closed, so this is the time that ran out.
            _ => Err(self.busy()),
        }
    }

    fn busy(&self) -> CallError {
        CallError::Busy {
            model: self.model.clone(),
            running: self.limit.concurrent,
            waiting: self.waiting.load(Ordering::Relaxed).saturating_sub(1),
        }
    }
}

/// A call that waits; it leaves the queue when dropped, also when its caller gave up.
struct Queued<'a> {
    waiting: &'a AtomicUsize,
    place: usize,
}

impl<'a> Queued<'a> {
    fn join(waiting: &'a AtomicUsize) -> Self {
        let place = waiting.fetch_add(1, Ordering::Relaxed) + 1;
        Queued { waiting, place }
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limiter(concurrent: usize, queued: usize) -> Arc<Limiter> {
        let wait = Duration::from_secs(5);
        Arc::new(Limiter::new(
            "m",
            Limit {
                concurrent,
                queued,
                wait,
            },
        ))
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_a_place_and_the_queue_is_bounded() {
        let limiter = limiter(1, 1);
        let first = limiter.enter().await.unwrap();
        let second = tokio::spawn({
            let limiter = Arc::clone(&limiter);
            async move { limiter.enter().await }
        });
        tokio::task::yield_now().await;
        let refused = limiter.enter().await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "m is busy: 1 calls run and 1 wait; try again later"
        );
        drop(first);
        second.await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_does_not_wait_for_ever() {
        let limiter = limiter(1, 10);
        let _running = limiter.enter().await.unwrap();
        assert_eq!(limiter.enter().await.unwrap_err().code(), "model-busy");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_gives_up_leaves_the_queue() {
        let limiter = limiter(1, 1);
        let _running = limiter.enter().await.unwrap();
        let gave_up = tokio::time::timeout(Duration::from_secs(1), limiter.enter()).await;
        assert!(gave_up.is_err());
        assert_eq!(limiter.waiting.load(Ordering::Relaxed), 0);
    }
}
