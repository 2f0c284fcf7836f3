//! Concurrency of layer builds. An owner builds one at a time, so that slow builds of one
//! owner do not delay those of another; the same layer is built once; and the total is
//! limited, so that builds do not displace commands.

use crate::error::{BusyScope, Error};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// Builds at once, of all owners.
const MAX_BUILDS: usize = 8;

/// Waiting builds of one owner.
const MAX_WAITING_PER_OWNER: usize = 32;

/// When an owner with too many builds may retry.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// The state of builds.
#[derive(Debug)]
pub(crate) struct Builds {
    /// The interpreter that layers depend on, once known.
    pub(crate) interpreter: OnceLock<String>,
    owners: Locks,
    keys: Locks,
    all: Arc<Semaphore>,
}

/// The permit to build one layer.
#[derive(Debug)]
pub(crate) struct BuildPermit {
    _all: OwnedSemaphorePermit,
}

impl Builds {
    /// `running` is how many commands may run at once; half of them may be builds.
    pub(crate) fn new(running: usize) -> Self {
        Self {
            interpreter: OnceLock::new(),
            owners: Locks::default(),
            keys: Locks::default(),
            all: Arc::new(Semaphore::new((running / 2).clamp(1, MAX_BUILDS))),
        }
    }

    /// Waits until no other build of this owner runs.
    pub(crate) async fn lock_owner(&self, owner: &str) -> Result<OwnedMutexGuard<()>, Error> {
        let (lock, users) = self.owners.get(owner);
        // Two references are the table's and this one.
        let waiting = users.saturating_sub(2);
        if waiting > MAX_WAITING_PER_OWNER {
            return Err(Error::Busy {
                scope: BusyScope::Tenant,
                running: 1,
                waiting,
                retry_after: RETRY_AFTER,
            });
        }
        Ok(lock.lock_owned().await)
    }

    /// Waits until no other build of this layer runs. Acquired after the owner's lock:
    /// otherwise an owner that waits for its own builds could block others.
    pub(crate) async fn lock_layer(&self, key: &str) -> OwnedMutexGuard<()> {
        self.keys.get(key).0.lock_owned().await
    }

    /// The lock of this layer, if no other build of it runs.
    pub(crate) fn try_lock_layer(&self, key: &str) -> Option<OwnedMutexGuard<()>> {
        self.keys.get(key).0.try_lock_owned().ok()
    }

    /// Waits for a permit. Acquired after the layer's lock, so that waiting builds hold none.
    pub(crate) async fn acquire_permit(&self) -> Result<BuildPermit, Error> {
        let all = Arc::clone(&self.all).acquire_owned().await;
        let _all = all.map_err(|_| Error::LauncherGone)?;
        Ok(BuildPermit { _all })
    }

    /// A permit, if one is free.
    pub(crate) fn try_acquire_permit(&self) -> Option<BuildPermit> {
        let _all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        Some(BuildPermit { _all })
    }
}

/// Locks by name, which exist as long as they are in use.
#[derive(Debug, Default)]
struct Locks(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl Locks {
    /// The lock of a name, and how many use it, the table included.
    fn get(&self, name: &str) -> (Arc<tokio::sync::Mutex<()>>, usize) {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        let lock = Arc::clone(locks.entry(name.to_owned()).or_default());
        let users = Arc::strong_count(&lock);
        (lock, users)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn an_owner_waits_for_its_own_builds_and_for_no_others() {
        let builds = Builds::new(8);
        let first = builds.lock_owner("a").await.unwrap();
        let mut second = Box::pin(builds.lock_owner("a"));
        assert!((&mut second).now_or_never().is_none());
        assert!(builds.lock_owner("b").now_or_never().is_some());
        drop(first);
        assert!(second.now_or_never().is_some());
        assert!(
            builds.owners.get("c").1 == 2,
            "only the new one and the table"
        );
        assert_eq!(builds.owners.0.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn an_owner_with_too_many_builds_waiting_is_refused() {
        let builds = Builds::new(8);
        let _first = builds.lock_owner("a").await.unwrap();
        let mut waiting: Vec<_> = (0..MAX_WAITING_PER_OWNER)
            .map(|_| Box::pin(builds.lock_owner("a")))
            .collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none());
        }
        let refused = builds.lock_owner("a").now_or_never();
        assert!(refused.is_some_and(|refused| refused.is_err()));
        assert!(builds.lock_owner("b").now_or_never().is_some());
    }
}
