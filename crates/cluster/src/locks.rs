//! One user of a container at a time inside this process: those of other processes are kept
//! away by the store. A lock exists only while somebody has it or waits for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prowess_sandbox::Error;
use tokio::sync::{Mutex as TurnMutex, OwnedMutexGuard};

/// Commands and files that may wait for one container.
const MAX_WAITING: usize = 256;

/// The locks of all containers in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct ContainerLocks {
    locks: Arc<Mutex<HashMap<String, Arc<TurnMutex<()>>>>>,
}

/// The right to use a container, until dropped.
#[derive(Debug)]
pub(crate) struct ContainerTurn {
    locks: ContainerLocks,
    id: String,
    turn: Option<OwnedMutexGuard<()>>,
}

impl ContainerLocks {
    /// Waits for a container, unless too many wait already.
    pub(crate) async fn acquire(&self, id: &str) -> Result<ContainerTurn, Error> {
        // Dropped while it waits, this removes the lock if nobody else needs it.
        let mut turn = ContainerTurn {
            locks: self.clone(),
            id: id.to_owned(),
            turn: None,
        };
        let lock = {
            let mut locks = self.lock();
            let lock = locks.entry(id.to_owned()).or_default();
            // One for the map, one for who has it.
            let waiting = Arc::strong_count(lock).saturating_sub(2);
            if waiting >= MAX_WAITING {
                return Err(Error::ContainerQueueFull {
                    id: id.to_owned(),
                    waiting,
                });
            }
            Arc::clone(lock)
        };
        turn.turn = Some(lock.lock_owned().await);
        Ok(turn)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<TurnMutex<()>>>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ContainerTurn {
    fn drop(&mut self) {
        drop(self.turn.take());
        let mut locks = self.locks.lock();
        if locks
            .get(&self.id)
            .is_some_and(|lock| Arc::strong_count(lock) == 1)
        {
            locks.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Whether something does not happen at once.
    async fn waits(future: impl Future) -> bool {
        tokio::time::timeout(Duration::ZERO, future).await.is_err()
    }

    #[tokio::test]
    async fn users_of_a_container_take_turns_and_leave_nothing_behind() {
        let locks = ContainerLocks::default();
        let first = locks.acquire("a").await.unwrap();
        let other = locks.acquire("b").await.unwrap();
        let mut second = Box::pin(locks.acquire("a"));
        assert!(waits(&mut second).await);
        drop(first);
        let second = second.await.unwrap();
        let left = Box::pin(locks.acquire("a"));
        drop(left);
        drop((second, other));
        assert!(locks.lock().is_empty());
    }

    #[tokio::test]
    async fn too_many_are_refused() {
        let locks = ContainerLocks::default();
        let _held = locks.acquire("a").await.unwrap();
        let mut waiting = Vec::new();
        for _ in 0..MAX_WAITING {
            let mut next = Box::pin(locks.acquire("a"));
            assert!(waits(&mut next).await);
            waiting.push(next);
        }
        let refused = locks.acquire("a").await.unwrap_err();
        assert_eq!(refused.code(), "container-queue-full");
    }
}
