//! Who may build a layer now. An owner builds one at a time, so that the slow builds of
//! one do not stand before those of another; the same layer is built once; and all
//! together are bounded, so that commands find room beside them.

use crate::error::{BusyScope, Error};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// Builds at once, of all owners.
const MAX_BUILDS: usize = 8;

/// Builds of one owner that wait behind its first.
const MAX_WAITING_PER_OWNER: usize = 32;

/// When an owner with too many builds may try again.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// What is known and held of builds.
#[derive(Debug)]
pub(crate) struct Builds {
    /// What layers depend on beside their requirements, once it was found out.
    pub(crate) interpreter: OnceLock<String>,
    owners: Locks,
    keys: Locks,
    all: Arc<Semaphore>,
}

/// Leave to build one layer.
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
        // Two of them are the table's and ours.
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

    /// Waits until no other build of this layer runs. Taken after the owner's: else one
    /// could hold it, waiting for builds of its own, before others who want the same.
    pub(crate) async fn lock_layer(&self, key: &str) -> OwnedMutexGuard<()> {
        self.keys.get(key).0.lock_owned().await
    }

    /// Waits for room. Taken last, so that nobody who only waits takes any.
    pub(crate) async fn acquire_permit(&self) -> Result<BuildPermit, Error> {
        let all = Arc::clone(&self.all).acquire_owned().await;
        let _all = all.map_err(|_| Error::LauncherGone)?;
        Ok(BuildPermit { _all })
    }
}

/// Locks by name, which are there as long as someone uses them.
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
