//! A pool of permits shared fairly by many owners.
//!
//! An owner holds at most its bound, whether or not others wait. When permits are short, the
//! next one goes to the waiting owner with the fewest (of several, to the one that got none
//! for longest), and within an owner to the longest waiting request. So one owner's queue
//! never delays another's by more than a permit.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The number of permits, in total and per owner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolBounds {
    pub(crate) total: usize,
    pub(crate) per_owner: usize,
    /// Waiting requests of one owner.
    pub(crate) waiting_per_owner: usize,
}

impl PoolBounds {
    /// Half of all permits for each owner, at least one.
    pub(crate) fn half_per_owner(total: usize, waiting_per_owner: usize) -> PoolBounds {
        let total = total.max(1);
        PoolBounds {
            total,
            per_owner: (total / 2).max(1),
            waiting_per_owner,
        }
    }
}

/// A pool of permits. Cheap to clone; clones share everything.
pub(crate) struct FairPool<O: Owner>(Arc<Shared<O>>);

/// Identifies an owner.
pub(crate) trait Owner: Eq + Hash + Clone + Send {}

impl<O: Eq + Hash + Clone + Send> Owner for O {}

struct Shared<O: Owner> {
    bounds: PoolBounds,
    state: Mutex<State<O>>,
}

struct State<O> {
    free: usize,
    /// Everyone who holds a permit or waits for one.
    owners: HashMap<O, Account>,
    /// Numbers the waiting requests in order of arrival.
    next: u64,
    /// Permits granted so far.
    grants: u64,
}

#[derive(Default)]
struct Account {
    holds: usize,
    /// Number of its last grant, which increases; 0 for none.
    last_grant: u64,
    waiting: VecDeque<Waiter>,
}

struct Waiter {
    number: u64,
    granted: oneshot::Sender<()>,
}

/// An owner has reached its limit of waiting requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyWaiting;

impl<O: Owner> FairPool<O> {
    pub(crate) fn new(bounds: PoolBounds) -> FairPool<O> {
        FairPool(Arc::new(Shared {
            bounds,
            state: Mutex::new(State {
                free: bounds.total,
                owners: HashMap::new(),
                next: 0,
                grants: 0,
            }),
        }))
    }

    /// Waits for a permit. Dropping the future cancels the request.
    pub(crate) async fn acquire(&self, owner: &O) -> Result<PoolPermit<O>, TooManyWaiting> {
        let mut ticket = match self.enter(owner)? {
            Acquisition::Permit(permit) => return Ok(permit),
            Acquisition::Queued(ticket) => ticket,
        };
        // The sender stays in the queue until it is used, so this is the permit.
        let _ = (&mut ticket.granted).await;
        ticket.is_taken = true;
        Ok(self.permit(owner))
    }

    /// A permit that was counted already.
    fn permit(&self, owner: &O) -> PoolPermit<O> {
        PoolPermit {
            pool: Arc::clone(&self.0),
            owner: owner.clone(),
        }
    }

    fn enter(&self, owner: &O) -> Result<Acquisition<O>, TooManyWaiting> {
        let bounds = self.0.bounds;
        let mut state = self.0.lock();
        let free = state.free > 0;
        let grant = state.grants + 1;
        let account = state.owners.entry(owner.clone()).or_default();
        // Whoever waits although permits are free has reached its own bound.
        if free && account.holds < bounds.per_owner {
            account.holds += 1;
            account.last_grant = grant;
            state.grants = grant;
            state.free -= 1;
            return Ok(Acquisition::Permit(self.permit(owner)));
        }
        if account.waiting.len() >= bounds.waiting_per_owner {
            state.forget(owner);
            return Err(TooManyWaiting);
        }
        let (granted, receiver) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        let waiting = Waiter { number, granted };
        let account = state.owners.entry(owner.clone()).or_default();
        account.waiting.push_back(waiting);
        Ok(Acquisition::Queued(QueueTicket {
            pool: Arc::clone(&self.0),
            owner: owner.clone(),
            number,
            granted: receiver,
            is_taken: false,
        }))
    }
}

enum Acquisition<O: Owner> {
    Permit(PoolPermit<O>),
    Queued(QueueTicket<O>),
}

/// A position in the queue. If dropped before it was taken, it releases the permit that it may
/// have been granted.
struct QueueTicket<O: Owner> {
    pool: Arc<Shared<O>>,
    owner: O,
    number: u64,
    granted: oneshot::Receiver<()>,
    is_taken: bool,
}

impl<O: Owner> Drop for QueueTicket<O> {
    fn drop(&mut self) {
        if self.is_taken {
            return;
        }
        let mut state = self.pool.lock();
        match self.granted.try_recv() {
            Ok(()) => state.release(&self.owner, &self.pool.bounds),
            Err(_) => state.leave(&self.owner, self.number),
        }
    }
}

impl<O: Owner> Shared<O> {
    fn lock(&self) -> MutexGuard<'_, State<O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<O: Owner> State<O> {
    /// Takes a permit back and grants it to the next owner.
    fn release(&mut self, owner: &O, bounds: &PoolBounds) {
        self.free += 1;
        if let Some(account) = self.owners.get_mut(owner) {
            account.holds -= 1;
        }
        while self.free > 0 && self.grant(bounds) {}
        self.forget(owner);
    }

    /// Grants a permit to the next owner; returns whether there was one.
    fn grant(&mut self, bounds: &PoolBounds) -> bool {
        let may = self.owners.values_mut().filter_map(|account| {
            let number = account.waiting.front()?.number;
            let turn = (account.holds, account.last_grant, number);
            (account.holds < bounds.per_owner).then_some((turn, account))
        });
        let Some((_, account)) = may.min_by_key(|(turn, _)| *turn) else {
            return false;
        };
        // Cancelling takes the lock first, so the receiver still exists.
        if let Some(waiting) = account.waiting.pop_front()
            && waiting.granted.send(()).is_ok()
        {
            self.grants += 1;
            account.holds += 1;
            account.last_grant = self.grants;
            self.free -= 1;
        }
        true
    }

    fn leave(&mut self, owner: &O, number: u64) {
        if let Some(account) = self.owners.get_mut(owner) {
            account.waiting.retain(|waiting| waiting.number != number);
        }
        self.forget(owner);
    }

    fn forget(&mut self, owner: &O) {
        let unused = |account: &Account| account.holds == 0 && account.waiting.is_empty();
        if self.owners.get(owner).is_some_and(unused) {
            self.owners.remove(owner);
        }
    }
}

/// One permit; released on drop.
pub(crate) struct PoolPermit<O: Owner> {
    pool: Arc<Shared<O>>,
    owner: O,
}

impl<O: Owner> Drop for PoolPermit<O> {
    fn drop(&mut self) {
        self.pool.lock().release(&self.owner, &self.pool.bounds);
    }
}

impl<O: Owner + fmt::Debug> fmt::Debug for PoolPermit<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("owner", &self.owner)
            .finish()
    }
}

#[cfg(test)]
mod tests;
