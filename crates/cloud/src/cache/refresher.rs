//! The one task of a cache that fetches credentials.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{timeout, timeout_at};

use super::state::{AfterPause, Shared};
use crate::error::CloudError;

/// A fetch that takes longer has failed: shorter than the time requests wait for it.
const MAX_FETCH_TIME: Duration = Duration::from_secs(25);

/// Starts the refresher, which fetches at once.
pub(super) fn start<T: Clone + Send + Sync + 'static>(shared: &Arc<Shared<T>>) {
    // It does not keep the cache alive while it sleeps.
    let cache = Arc::downgrade(shared);
    tokio::spawn(run(cache.clone(), Guard(Some(cache))));
}

async fn run<T: Clone + Send + Sync + 'static>(cache: Weak<Shared<T>>, mut guard: Guard<T>) {
    'fetch: loop {
        let Some(shared) = cache.upgrade() else {
            return;
        };
        let fetched = timeout(MAX_FETCH_TIME, shared.source.fetch()).await;
        let fetched = fetched.unwrap_or(Err(CloudError::TooSlow(MAX_FETCH_TIME)));
        let Some(due) = shared.finish(fetched) else {
            guard.0 = None;
            return;
        };
        let wake = Arc::clone(&shared.wake);
        drop(shared);
        loop {
            // Either end of the pause is fine: the state says what to do.
            let _ = timeout_at(due, wake.notified()).await;
            let Some(shared) = cache.upgrade() else {
                return;
            };
            match shared.after_pause(due) {
                AfterPause::Fetch => continue 'fetch,
                AfterPause::SleepOn => {}
                AfterPause::Stop => {
                    guard.0 = None;
                    return;
                }
            }
        }
    }
}

/// Reports a refresher that ends because its runtime does, even before it began.
struct Guard<T: Clone + Send + Sync + 'static>(Option<Weak<Shared<T>>>);

impl<T: Clone + Send + Sync + 'static> Drop for Guard<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take().and_then(|cache| cache.upgrade()) {
            shared.abandon(std::thread::panicking());
        }
    }
}
