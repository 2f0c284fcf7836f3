//! Limits on concurrent connections: per command, per owner, in total.
//!
//! Each owner has a few reserved connections, so that it can always connect, however many
//! others keep open and for however long.

use crate::container::tenant_for_owner;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections of one command; more wait to be accepted.
pub(super) const MAX_PER_COMMAND: usize = 64;

/// Connections of all commands of one owner.
const MAX_PER_OWNER: usize = 128;

/// Of those, how many are reserved for this owner. As there are no more owners than running
/// commands, this limits what comes on top of [`MAX_SHARED`].
const RESERVED_PER_OWNER: usize = 8;

/// Connections of all commands, without the reserved ones. Each has two sockets.
const MAX_SHARED: usize = 512;

/// What all commands share.
#[derive(Debug)]
pub(crate) struct ConnectionShares {
    shared: Arc<Semaphore>,
    /// Of owners that have a command with a proxy.
    owners: Mutex<HashMap<String, Weak<OwnerConnections>>>,
}

/// What all commands of one owner share.
#[derive(Debug)]
struct OwnerConnections {
    all: Arc<Semaphore>,
    reserved: Arc<Semaphore>,
}

impl Default for ConnectionShares {
    fn default() -> Self {
        Self {
            shared: Arc::new(Semaphore::new(MAX_SHARED)),
            owners: Mutex::default(),
        }
    }
}

impl ConnectionShares {
    /// The share of all commands of this owner together, including its package builds.
    pub(crate) fn for_owner(&self, owner: &str) -> ConnectionShare {
        let owner = tenant_for_owner(owner);
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|_, share| share.strong_count() > 0);
        let known = owners.get(owner).and_then(Weak::upgrade);
        let own = known.unwrap_or_else(|| {
            let own = Arc::new(OwnerConnections {
                all: Arc::new(Semaphore::new(MAX_PER_OWNER)),
                reserved: Arc::new(Semaphore::new(RESERVED_PER_OWNER)),
            });
            owners.insert(owner.to_owned(), Arc::downgrade(&own));
            own
        });
        ConnectionShare {
            own,
            shared: Arc::clone(&self.shared),
        }
    }
}

/// The share of one owner.
#[derive(Debug)]
pub(crate) struct ConnectionShare {
    own: Arc<OwnerConnections>,
    shared: Arc<Semaphore>,
}

/// The permit for one connection, released when dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    _own: OwnedSemaphorePermit,
    /// A reserved or a shared one.
    _place: OwnedSemaphorePermit,
}

impl ConnectionShare {
    /// Waits for a free connection: first of the owner's, so that an owner at its limit
    /// waits for its own connections and blocks none of the others'.
    pub(super) async fn acquire(&self) -> Option<ConnectionPermit> {
        // The semaphores are never closed.
        let own = Arc::clone(&self.own.all).acquire_owned().await.ok()?;
        let reserved = Arc::clone(&self.own.reserved).acquire_owned();
        let shared = Arc::clone(&self.shared).acquire_owned();
        let place = tokio::select! {
            biased;
            place = reserved => place,
            place = shared => place,
        };
        Some(ConnectionPermit {
            _own: own,
            _place: place.ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn an_owner_with_too_many_connections_waits_alone() {
        let shares = ConnectionShares::default();
        let (greedy, also_greedy) = (shares.for_owner("a"), shares.for_owner("a"));
        let take = |share: &ConnectionShare| share.acquire().now_or_never().flatten();
        let mut permits: Vec<_> = (0..MAX_PER_OWNER).map_while(|_| take(&greedy)).collect();
        assert_eq!(permits.len(), MAX_PER_OWNER);
        assert!(take(&also_greedy).is_none());
        assert!(take(&shares.for_owner("b")).is_some());
        permits.pop();
        assert!(take(&also_greedy).is_some());
    }

    #[test]
    fn owners_that_fill_what_all_share_leave_the_others_their_reserve() {
        let shares = ConnectionShares::default();
        let take = |share: &ConnectionShare| share.acquire().now_or_never().flatten();
        let greedy: Vec<ConnectionShare> =
            (0..5).map(|n| shares.for_owner(&format!("{n}"))).collect();
        let mut open: Vec<ConnectionPermit> = Vec::new();
        for share in &greedy {
            open.extend(std::iter::from_fn(|| take(share)));
        }
        assert_eq!(open.len(), MAX_SHARED + greedy.len() * RESERVED_PER_OWNER);
        let victim = shares.for_owner("victim");
        let mut own: Vec<ConnectionPermit> = std::iter::from_fn(|| take(&victim)).collect();
        assert_eq!(own.len(), RESERVED_PER_OWNER);
        own.pop();
        assert!(take(&victim).is_some());
        own.extend(take(&victim));
        // Closed connections are available to all.
        drop(open);
        assert!(take(&victim).is_some());
    }

    #[test]
    fn builds_of_packages_have_no_share_beside_their_tenants() {
        let shares = ConnectionShares::default();
        let take = |share: &ConnectionShare| share.acquire().now_or_never().flatten();
        let (build, command) = (shares.for_owner("\0layers a"), shares.for_owner("a"));
        let permits: Vec<_> = std::iter::from_fn(|| take(&build)).collect();
        assert_eq!(permits.len(), MAX_PER_OWNER);
        assert!(take(&command).is_none());
    }

    #[test]
    fn owners_are_forgotten_with_their_commands() {
        let shares = ConnectionShares::default();
        drop(shares.for_owner("a"));
        let _b = shares.for_owner("b");
        assert_eq!(shares.owners.lock().unwrap().len(), 1);
    }
}
