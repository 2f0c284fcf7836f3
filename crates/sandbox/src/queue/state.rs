//! The state of the queue: plain data under one lock.

use crate::error::BusyScope;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Range of the suggested retry delay.
const MIN_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(60);

/// Limits of running and waiting commands.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueueLimits {
    pub(super) running: usize,
    pub(super) waiting: usize,
    pub(super) running_per_owner: usize,
    pub(super) waiting_per_owner: usize,
}

/// A position in the queue.
#[derive(Debug, Clone)]
pub(super) struct Ticket {
    owner: Arc<str>,
    number: u64,
}

/// Running and waiting commands; `W` notifies a waiter.
#[derive(Debug)]
pub(super) struct QueueState<W> {
    bounds: QueueLimits,
    running: usize,
    waiting: usize,
    owners: HashMap<Arc<str>, Owner<W>>,
    /// Waiting owners that may run one more, in the order of their turns.
    next: BTreeMap<u64, Arc<str>>,
    /// Waiting owners, by their number of running and waiting commands.
    by_load: BTreeSet<(usize, Arc<str>)>,
    /// The last number assigned to a waiter or to an owner's turn.
    numbers: u64,
    /// Average duration of commands.
    average_run: Duration,
}

#[derive(Debug)]
struct Owner<W> {
    running: usize,
    line: BTreeMap<u64, W>,
    /// Its key in `next`.
    turn: Option<u64>,
}

impl<W> Owner<W> {
    fn load(&self) -> usize {
        self.running + self.line.len()
    }
}

impl<W> QueueState<W> {
    pub(super) fn new(bounds: QueueLimits) -> Self {
        Self {
            bounds,
            running: 0,
            waiting: 0,
            owners: HashMap::new(),
            next: BTreeMap::new(),
            by_load: BTreeSet::new(),
            numbers: 0,
            average_run: MIN_RETRY,
        }
    }

    /// How many of one owner run at once.
    pub(super) fn running_per_owner(&self) -> usize {
        self.bounds.running_per_owner
    }

    /// How many run, and how many wait.
    pub(super) fn load(&self) -> (usize, usize) {
        (self.running, self.waiting)
    }

    pub(super) fn owner_load(&self, owner: &str) -> (usize, usize) {
        let owner = self.owners.get(owner);
        owner.map_or((0, 0), |owner| (owner.running, owner.line.len()))
    }

    /// When the queue is likely to have space.
    pub(super) fn retry_after(&self) -> Duration {
        let rounds = self.waiting / self.bounds.running + 1;
        let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
        let expected = self.average_run.saturating_mul(rounds);
        expected.clamp(MIN_RETRY, MAX_RETRY)
    }

    /// Starts a command if a permit is free for this owner.
    pub(super) fn enter(&mut self, owner: &Arc<str>) -> bool {
        let own = self.owner_load(owner).0;
        if self.running >= self.bounds.running || own >= self.bounds.running_per_owner {
            return false;
        }
        self.running += 1;
        self.change(owner, |owner| owner.running += 1);
        true
    }

    /// Adds a waiter to the queue; returns its ticket and the displaced waiter, if any.
    pub(super) fn join(
        &mut self,
        owner: &Arc<str>,
        waiter: W,
    ) -> Result<(Ticket, Option<W>), BusyScope> {
        let own = self.owner_load(owner);
        if own.1 >= self.bounds.waiting_per_owner {
            return Err(BusyScope::Tenant);
        }
        let mut displaced = None;
        if self.waiting >= self.bounds.waiting {
            displaced = Some(self.displace(own.0 + own.1)?);
        }
        self.numbers += 1;
        let number = self.numbers;
        self.waiting += 1;
        self.change(owner, |owner| {
            owner.line.insert(number, waiter);
        });
        let ticket = Ticket {
            owner: Arc::clone(owner),
            number,
        };
        Ok((ticket, displaced))
    }

    /// Removes the last waiter of the owner with most, if that owner has at least two more
    /// than `load`.
    fn displace(&mut self, load: usize) -> Result<W, BusyScope> {
        let largest = self.by_load.last().cloned();
        let Some((_, owner)) = largest.filter(|(most, _)| *most > load + 1) else {
            return Err(BusyScope::Server);
        };
        let mut last = None;
        self.change(&owner, |owner| last = owner.line.pop_last());
        self.waiting -= usize::from(last.is_some());
        last.map(|(_, waiter)| waiter).ok_or(BusyScope::Server)
    }

    /// Removes a waiter from the queue, if it is still there.
    pub(super) fn leave(&mut self, ticket: &Ticket) {
        let mut found = None;
        self.change(&ticket.owner, |owner| {
            found = owner.line.remove(&ticket.number);
        });
        self.waiting -= usize::from(found.is_some());
    }

    /// Releases a permit and passes it to the first waiter of the next owner.
    pub(super) fn release(
        &mut self,
        owner: &Arc<str>,
        took: Option<Duration>,
    ) -> Option<(Arc<str>, W)> {
        if let Some(took) = took {
            self.average_run = (self.average_run.saturating_mul(7).saturating_add(took)) / 8;
        }
        self.running = self.running.saturating_sub(1);
        self.change(owner, |owner| {
            owner.running = owner.running.saturating_sub(1);
        });
        let (_, next) = self.next.pop_first()?;
        let mut first = None;
        self.change(&next, |owner| {
            owner.turn = None;
            first = owner.line.pop_first();
            owner.running += usize::from(first.is_some());
        });
        let (_, waiter) = first?;
        self.waiting -= 1;
        self.running += 1;
        Some((next, waiter))
    }

    /// Changes an owner and updates the indexes.
    fn change(&mut self, name: &Arc<str>, change: impl FnOnce(&mut Owner<W>)) {
        let owner = self
            .owners
            .entry(Arc::clone(name))
            .or_insert_with(|| Owner {
                running: 0,
                line: BTreeMap::new(),
                turn: None,
            });
        let (before, waited) = (owner.load(), !owner.line.is_empty());
        change(owner);
        let (after, waits) = (owner.load(), !owner.line.is_empty());
        let may_run = owner.running < self.bounds.running_per_owner;
        let left = match (waits && may_run, owner.turn) {
            (true, None) => {
                self.numbers += 1;
                owner.turn = Some(self.numbers);
                self.next.insert(self.numbers, Arc::clone(name));
                None
            }
            (false, Some(_)) => owner.turn.take(),
            _ => None,
        };
        if let Some(turn) = left {
            self.next.remove(&turn);
        }
        if waited {
            self.by_load.remove(&(before, Arc::clone(name)));
        }
        if waits {
            self.by_load.insert((after, Arc::clone(name)));
        }
        if after == 0 {
            self.owners.remove(name);
        }
    }
}
