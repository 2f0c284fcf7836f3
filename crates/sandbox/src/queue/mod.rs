//! The queue of commands: a limit of running commands and a bounded queue, both in total
//! and per owner, with round-robin scheduling between owners.
//!
//! A single owner may use the whole queue and almost all permits. When several owners wait,
//! they take turns; when the queue is full, a command of an owner with fewer displaces the
//! last one of the owner with most. Every operation takes logarithmic time.

mod state;

use crate::container::tenant_for_owner;
use crate::error::{BusyScope, Error};
use crate::settings::SandboxSettings;
use state::{QueueLimits, QueueState, Ticket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// The queue.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    state: Arc<Mutex<QueueState<Waiter>>>,
    /// How many run, for subscribers.
    running: watch::Sender<usize>,
}

/// The message to a waiter.
type PermitResult = Result<RunPermit, Error>;
type Waiter = oneshot::Sender<PermitResult>;

/// The permit to run; passed on to the next waiter when dropped.
#[derive(Debug)]
pub(crate) struct RunPermit {
    queue: Queue,
    owner: Arc<str>,
    running: usize,
    began: Instant,
    /// Whether the permit has been passed on already.
    is_released: bool,
}

/// A waiter. Leaves the queue when dropped.
struct QueuedWaiter<'a> {
    queue: &'a Queue,
    ticket: Ticket,
}

impl Drop for QueuedWaiter<'_> {
    fn drop(&mut self) {
        self.queue.lock().leave(&self.ticket);
    }
}

impl Queue {
    pub(crate) fn new(settings: &SandboxSettings) -> Self {
        Self::with(QueueLimits {
            running: settings.running.max(1),
            waiting: settings.waiting,
            running_per_owner: settings.max_commands_per_tenant(),
            waiting_per_owner: settings.waiting_per_tenant.unwrap_or(settings.waiting),
        })
    }

    fn with(bounds: QueueLimits) -> Self {
        Self {
            state: Arc::new(Mutex::new(QueueState::new(bounds))),
            running: watch::Sender::new(0),
        }
    }

    /// Waits for a permit, or fails at once if too many wait. Package builds count for
    /// their tenant.
    pub(crate) async fn acquire(&self, owner: &str) -> PermitResult {
        let owner: Arc<str> = tenant_for_owner(owner).into();
        let (waiting, receiver) = {
            let mut state = self.lock();
            if state.enter(&owner) {
                let running = state.owner_load(&owner).0;
                drop(state);
                return Ok(self.grant(owner, running));
            }
            let (sender, receiver) = oneshot::channel();
            let joined = state.join(&owner, sender);
            let retry_after = state.retry_after();
            let (all, own) = (state.load(), state.owner_load(&owner));
            drop(state);
            match joined {
                Ok((ticket, displaced)) => {
                    if let Some(last) = displaced {
                        // The send fails only if the waiter has left.
                        let _ = last.send(Err(busy_error(BusyScope::Server, all, retry_after)));
                    }
                    let queue = self;
                    (QueuedWaiter { queue, ticket }, receiver)
                }
                Err(BusyScope::Tenant) => {
                    return Err(busy_error(BusyScope::Tenant, own, retry_after));
                }
                Err(BusyScope::Server) => {
                    return Err(busy_error(BusyScope::Server, all, retry_after));
                }
            }
        };
        let answer = receiver.await;
        drop(waiting);
        answer.unwrap_or_else(|_| {
            Err(busy_error(
                BusyScope::Server,
                self.load(),
                Duration::from_secs(1),
            ))
        })
    }

    /// A permit, if one is free for this owner.
    pub(crate) fn try_acquire(&self, owner: &str) -> Option<RunPermit> {
        let owner: Arc<str> = tenant_for_owner(owner).into();
        let mut state = self.lock();
        let is_free = state.enter(&owner);
        let running = state.owner_load(&owner).0;
        drop(state);
        is_free.then(|| self.grant(owner, running))
    }

    fn grant(&self, owner: Arc<str>, running: usize) -> RunPermit {
        self.running.send_modify(|count| *count += 1);
        RunPermit {
            queue: self.clone(),
            owner,
            running,
            began: Instant::now(),
            is_released: false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<Waiter>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many run, and every change of that.
    pub(crate) fn running(&self) -> watch::Receiver<usize> {
        self.running.subscribe()
    }

    /// How many of one owner run at once.
    pub(crate) fn running_per_owner(&self) -> usize {
        self.lock().running_per_owner()
    }

    /// How many run, and how many wait.
    pub(crate) fn load(&self) -> (usize, usize) {
        self.lock().load()
    }
}

fn busy_error(
    scope: BusyScope,
    (running, waiting): (usize, usize),
    retry_after: Duration,
) -> Error {
    Error::Busy {
        scope,
        running,
        waiting,
        retry_after,
    }
}

impl RunPermit {
    /// How many commands of its owner ran when it started, itself included.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// Whether its owner has waiting commands.
    pub(crate) fn has_waiting(&self) -> bool {
        self.queue.lock().owner_load(&self.owner).1 > 0
    }
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        self.queue.running.send_modify(|count| *count -= 1);
        if self.is_released {
            return;
        }
        let took = self.began.elapsed();
        let mut left = Arc::clone(&self.owner);
        let mut took = Some(took);
        loop {
            let mut state = self.queue.lock();
            let next = state.release(&left, took.take());
            let Some((owner, next)) = next else {
                return;
            };
            let running = state.owner_load(&owner).0;
            drop(state);
            // If the waiter has just left, the permit is passed on to the next.
            match next.send(Ok(self.queue.grant(Arc::clone(&owner), running))) {
                Err(Ok(mut turn)) => turn.is_released = true,
                _ => return,
            }
            left = owner;
        }
    }
}

#[cfg(test)]
mod tests;
