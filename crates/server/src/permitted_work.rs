//! Work for a processor that needs a permit, on a blocking thread. It cannot be stopped, so it goes
//! on when its client has left, and keeps the permit until it ends: otherwise a client that sends
//! requests and leaves at once would have any number of them at work, and other tenants would wait
//! for processors and threads.

use tokio::task::JoinError;

/// Runs work; returns its result with the permit. If this future is dropped, the permit is dropped
/// when the work has ended.
pub(crate) async fn run_with_permit<P, T>(
    permit: P,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<(T, P), JoinError>
where
    P: Send + 'static,
    T: Send + 'static,
{
    tokio::task::spawn_blocking(move || (work(), permit)).await
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::FutureExt;

    use super::*;
    use crate::fair_pool::{FairPool, PoolBounds};

    #[tokio::test]
    async fn work_whose_client_has_left_keeps_its_permit_until_it_ends() {
        let pool = FairPool::new(PoolBounds {
            total: 1,
            per_owner: 1,
            waiting_per_owner: 1,
        });
        let permit = pool.acquire(&"one").await.unwrap();
        let (end, ended) = mpsc::channel::<()>();
        let mut work = Box::pin(run_with_permit(permit, move || ended.recv()));
        assert!((&mut work).now_or_never().is_none());
        drop(work);
        let mut next = Box::pin(pool.acquire(&"one"));
        assert!((&mut next).now_or_never().is_none());
        end.send(()).unwrap();
        assert!(next.await.is_ok());
    }
}
