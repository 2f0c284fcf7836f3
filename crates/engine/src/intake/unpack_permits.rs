//! How many skills in requests are unpacked at once for a tenant. Unpacking cannot be stopped, so it
//! goes on when its client has left, and counts until it has ended: otherwise a client that sends
//! such requests and leaves at once would have any number of them at work.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use prowess_store::TenantId;
use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// The tenants that have skills unpacked.
#[derive(Debug, Default)]
pub(crate) struct UnpackPermits(Mutex<HashMap<TenantId, Arc<Semaphore>>>);

impl UnpackPermits {
    /// Does the work on a thread for blocking work, when the tenant has its turn.
    pub(crate) async fn unpack<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        // It is never closed.
        let permit = self.permits_of(tenant).acquire_owned().await.ok();
        let work = tokio::task::spawn_blocking(move || {
            let _held = permit;
            work()
        });
        work.await
    }

    fn permits_of(&self, tenant: &TenantId) -> Arc<Semaphore> {
        let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has a permit, or waits for one, has the semaphore too.
        tenants.retain(|_, permits| Arc::strong_count(permits) > 1);
        let permits = tenants.entry(tenant.clone());
        let permits = permits.or_insert_with(|| Arc::new(Semaphore::new(per_tenant())));
        Arc::clone(permits)
    }
}

/// Half of the processors.
fn per_tenant() -> usize {
    available_parallelism()
        .map_or(1, NonZeroUsize::get)
        .div_ceil(2)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc;
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn work_whose_client_has_left_counts_until_it_ends() {
        let permits = UnpackPermits::default();
        let (one, other) = (TenantId::new("one"), TenantId::new("other"));
        let (one, other) = (one.unwrap(), other.unwrap());
        let mut ends = Vec::new();
        for _ in 0..per_tenant() {
            let (end, ended) = mpsc::channel::<()>();
            let mut work = Box::pin(permits.unpack(&one, move || ended.recv().is_ok()));
            assert!((&mut work).now_or_never().is_none());
            drop(work);
            ends.push(end);
        }
        let mut next = pin!(permits.unpack(&one, || ()));
        let waiting = tokio::time::timeout(Duration::from_millis(50), next.as_mut());
        assert!(waiting.await.is_err());
        permits.unpack(&other, || ()).await.unwrap();
        for end in ends {
            end.send(()).unwrap();
        }
        next.await.unwrap();
    }
}
