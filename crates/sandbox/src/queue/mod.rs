//! Who may run now: a bound on how many at once, a bounded line behind it, both in all
//! and per owner, and turns between owners.
//!
//! An owner alone may use all of the line and almost all places. While others want to
//! run, each gets its turn; when the line is full, one of an owner with less in it takes
//! the place of the last of the owner with most. Nothing here takes longer the more wait,
//! but for the logarithm of a search tree.

mod state;

use crate::container::tenant_for_owner;
use crate::error::{BusyScope, Error};
use crate::settings::SandboxSettings;
use state::{QueueLimits, QueueState, Ticket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// The line.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    state: Arc<Mutex<QueueState<Waiter>>>,
    /// How many run, for those who want to know when that changes.
    running: watch::Sender<usize>,
}

/// What one who waits is sent.
type PermitResult = Result<RunPermit, Error>;
type Waiter = oneshot::Sender<PermitResult>;

/// Leave to run; gives way to the next when dropped.
#[derive(Debug)]
pub(crate) struct RunPermit {
    queue: Queue,
    owner: Arc<str>,
    running: usize,
    began: Instant,
    /// Whether the place has been given on already.
    is_released: bool,
}

/// One who waits. Dropped, it leaves the line.
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

    /// Waits for a turn, or is told at once that too many wait. Builds of packages take
    /// the turns of the tenant they are for.
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
                        // Nobody is told who has left meanwhile.
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

    /// How many run, now and whenever that changes.
    pub(crate) fn running(&self) -> watch::Receiver<usize> {
        self.running.subscribe()
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
    /// How many commands of its owner ran when it began, itself included.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// Whether its owner has commands that wait for a turn.
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
            // It passes on, unless the one who waited has left just now.
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
