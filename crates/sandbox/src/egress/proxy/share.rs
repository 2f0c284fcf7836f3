//! How many connections there may be at once: of one command, of one owner, of all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections of one command; more wait to be accepted.
pub(super) const MAX_PER_COMMAND: usize = 64;

/// Connections of all commands of one owner.
const MAX_PER_OWNER: usize = 128;

/// Connections of all commands. Each has two sockets.
const MAX_TOTAL: usize = 512;

/// What all commands share.
#[derive(Debug)]
pub(crate) struct Shares {
    total: Arc<Semaphore>,
    /// Of owners that have a command with a proxy.
    owners: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl Default for Shares {
    fn default() -> Self {
        Self {
            total: Arc::new(Semaphore::new(MAX_TOTAL)),
            owners: Mutex::default(),
        }
    }
}

impl Shares {
    /// The share that all commands of this owner have together.
    pub(crate) fn for_owner(&self, owner: &str) -> Share {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|_, share| share.strong_count() > 0);
        let known = owners.get(owner).and_then(Weak::upgrade);
        let own = known.unwrap_or_else(|| {
            let own = Arc::new(Semaphore::new(MAX_PER_OWNER));
            owners.insert(owner.to_owned(), Arc::downgrade(&own));
            own
        });
        Share {
            own,
            total: Arc::clone(&self.total),
        }
    }
}

/// The share of one owner.
#[derive(Debug)]
pub(crate) struct Share {
    own: Arc<Semaphore>,
    total: Arc<Semaphore>,
}

/// The right to one connection, given back when dropped.
#[derive(Debug)]
pub(super) struct Permit {
    _own: OwnedSemaphorePermit,
    _total: OwnedSemaphorePermit,
}

impl Share {
    /// Waits for a connection to be free: first among the owner's, so that an owner who
    /// has too many waits for its own and keeps none of the others' from them.
    pub(super) async fn take(&self) -> Option<Permit> {
        // They are never closed.
        let own = Arc::clone(&self.own).acquire_owned().await.ok()?;
        let total = Arc::clone(&self.total).acquire_owned().await.ok()?;
        Some(Permit {
            _own: own,
            _total: total,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn an_owner_with_too_many_connections_waits_alone() {
        let shares = Shares::default();
        let (greedy, also_greedy) = (shares.for_owner("a"), shares.for_owner("a"));
        let take = |share: &Share| share.take().now_or_never().flatten();
        let mut permits: Vec<_> = (0..MAX_PER_OWNER).map_while(|_| take(&greedy)).collect();
        assert_eq!(permits.len(), MAX_PER_OWNER);
        assert!(take(&also_greedy).is_none());
        assert!(take(&shares.for_owner("b")).is_some());
        permits.pop();
        assert!(take(&also_greedy).is_some());
    }

    #[test]
    fn owners_are_forgotten_with_their_commands() {
        let shares = Shares::default();
        drop(shares.for_owner("a"));
        let _b = shares.for_owner("b");
        assert_eq!(shares.owners.lock().unwrap().len(), 1);
    }
}
