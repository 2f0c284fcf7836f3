//! Limits how many calls of a model run at the same time, and how many may wait. Owners (tenants)
//! take turns: whoever has many calls waiting delays its own, and not those of others.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::oneshot;

use crate::config::ConcurrencyLimit;
use crate::deployments::state::RunningCall;
use crate::error::CallError;

/// In a full queue, an owner may still have this part of its places.
const OWNER_DIVISOR: usize = 4;
/// How often the places of a queue may be taken, with those of owners that have few calls in it.
const OVERFLOW_FACTOR: usize = 2;

/// A permit for a running call; released when dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "held for its drop")]
pub(crate) struct CallPermit {
    pub(crate) place: Option<CallPlace>,
    /// Of a deployment, whose running calls are counted.
    pub(crate) running: Option<RunningCall>,
}

/// The concurrency limit of a model.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimiter {
    model: String,
    limit: ConcurrencyLimit,
    /// Shared with the same model of an earlier configuration, whose calls still run.
    queue: OnceLock<Arc<Mutex<CallQueue>>>,
}

impl ConcurrencyLimiter {
    pub(crate) fn new(model: &str, limit: ConcurrencyLimit) -> Self {
        ConcurrencyLimiter {
            model: model.to_owned(),
            limit,
            queue: OnceLock::new(),
        }
    }

    fn queue(&self) -> &Arc<Mutex<CallQueue>> {
        self.queue.get_or_init(|| {
            Arc::new(Mutex::new(CallQueue {
                free: self.limit.concurrent,
                ..CallQueue::default()
            }))
        })
    }

    /// Goes on where that of an earlier configuration is: its calls keep their places, and those
    /// that wait keep their turns. Done before the first call.
    pub(crate) fn take_over(&self, previous: &ConcurrencyLimiter) {
        let queue = previous.queue();
        if self.queue.set(Arc::clone(queue)).is_err() {
            return;
        }
        let (before, now) = (previous.limit.concurrent, self.limit.concurrent);
        let next = {
            let mut queue = lock(queue);
            queue.withdraw(before.saturating_sub(now));
            queue.extend(now.saturating_sub(before))
        };
        for next in next {
            let queue = Arc::clone(queue);
            // A call that has just given up returns it, and it is released.
            drop(next.send(CallPlace { queue }));
        }
    }

    /// What it allows.
    pub(crate) fn limit(&self) -> &ConcurrencyLimit {
        &self.limit
    }

    /// Whether a call would have to wait.
    pub(crate) fn is_saturated(&self) -> bool {
        lock(self.queue()).free == 0
    }

    /// Acquires a place: at once if there is one, otherwise in turn with other owners, and of one
    /// owner in order of arrival.
    pub(crate) async fn acquire(&self, owner: u64) -> Result<CallPlace, CallError> {
        let (waiting, place) = {
            let mut queue = lock(self.queue());
            // Nobody waits while there is a place.
            if queue.free > 0 {
                queue.free -= 1;
                let queue = Arc::clone(self.queue());
                return Ok(CallPlace { queue });
            }
            if !queue.has_room(owner, self.limit.queued) {
                return Err(self.busy_error(queue.len));
            }
            let (sender, place) = oneshot::channel();
            let id = queue.join(owner, sender);
            let queue = Arc::clone(self.queue());
            (WaitingGuard { queue, owner, id }, place)
        };
        let place = tokio::time::timeout(self.limit.wait, place).await;
        drop(waiting);
        match place {
            Ok(Ok(place)) => Ok(place),
            // A waiting call is dropped only by itself, so this is the timeout.
            _ => Err(self.busy_error(lock(self.queue()).len)),
        }
    }

    fn busy_error(&self, waiting: usize) -> CallError {
        CallError::Busy {
            model: self.model.clone(),
            running: self.limit.concurrent,
            waiting,
        }
    }
}

fn lock(queue: &Mutex<CallQueue>) -> MutexGuard<'_, CallQueue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place of a running call. When it is dropped, the next waiting call gets it.
pub(crate) struct CallPlace {
    queue: Arc<Mutex<CallQueue>>,
}

impl fmt::Debug for CallPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallPlace")
    }
}

impl Drop for CallPlace {
    fn drop(&mut self) {
        let next = lock(&self.queue).release();
        if let Some(next) = next {
            let queue = Arc::clone(&self.queue);
            // A call that has just given up returns it, and it is released again.
            drop(next.send(CallPlace { queue }));
        }
    }
}

/// The free places, and the calls that wait for one.
#[derive(Debug, Default)]
struct CallQueue {
    free: usize,
    /// Places of running calls that go when they are released, as the limit has become lower.
    withdrawn: usize,
    waiting: HashMap<u64, VecDeque<WaitingCall>>,
    /// The owners that have waiting calls, in the order of their turns.
    turns: VecDeque<u64>,
    /// All waiting calls.
    len: usize,
    /// Numbers the calls.
    calls: u64,
}

#[derive(Debug)]
struct WaitingCall {
    id: u64,
    place: oneshot::Sender<CallPlace>,
}

impl CallQueue {
    /// Whether a call of an owner may wait: there is a place in the queue, or the owner has few
    /// calls in it, and others have filled it.
    fn has_room(&self, owner: u64, queued: usize) -> bool {
        let own = self.waiting.get(&owner).map_or(0, VecDeque::len);
        let has_few = own < (queued / OWNER_DIVISOR).max(1);
        let most = queued.saturating_mul(if has_few { OVERFLOW_FACTOR } else { 1 });
        self.len < most
    }

    /// Adds a call; returns its number.
    fn join(&mut self, owner: u64, place: oneshot::Sender<CallPlace>) -> u64 {
        self.calls += 1;
        let id = self.calls;
        let own = self.waiting.entry(owner).or_default();
        if own.is_empty() {
            self.turns.push_back(owner);
        }
        own.push_back(WaitingCall { id, place });
        self.len += 1;
        id
    }

    /// Takes so many places away: free ones first.
    fn withdraw(&mut self, places: usize) {
        let free = self.free.min(places);
        self.free -= free;
        self.withdrawn += places - free;
    }

    /// Adds so many places. Returns the calls that get one of them: those that wait, in turn.
    fn extend(&mut self, places: usize) -> Vec<oneshot::Sender<CallPlace>> {
        // Running calls keep the places that were to go.
        let kept = self.withdrawn.min(places);
        self.withdrawn -= kept;
        let mut left = places - kept;
        let mut next = Vec::new();
        while left > 0 && self.len > 0 {
            left -= 1;
            next.extend(self.release());
        }
        self.free += left;
        next
    }

    /// The call that gets a place which was released; none if nobody waits.
    fn release(&mut self) -> Option<oneshot::Sender<CallPlace>> {
        if self.withdrawn > 0 {
            self.withdrawn -= 1;
            return None;
        }
        while let Some(owner) = self.turns.pop_front() {
            let Some(own) = self.waiting.get_mut(&owner) else {
                continue;
            };
            let call = own.pop_front();
            if own.is_empty() {
                self.waiting.remove(&owner);
            } else {
                self.turns.push_back(owner);
            }
            if let Some(call) = call {
                self.len -= 1;
                return Some(call.place);
            }
        }
        self.free += 1;
        None
    }

    /// Removes a call that waits no more, if it is still there.
    fn leave(&mut self, owner: u64, id: u64) {
        let Some(own) = self.waiting.get_mut(&owner) else {
            return;
        };
        let before = own.len();
        own.retain(|call| call.id != id);
        self.len -= before - own.len();
        if own.is_empty() {
            self.waiting.remove(&owner);
            self.turns.retain(|turn| *turn != owner);
        }
    }
}

/// A waiting call; it leaves the queue when dropped, also when its client gave up.
struct WaitingGuard {
    queue: Arc<Mutex<CallQueue>>,
    owner: u64,
    id: u64,
}

impl Drop for WaitingGuard {
    fn drop(&mut self) {
        lock(&self.queue).leave(self.owner, self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const OWNER: u64 = 1;

    fn limiter(concurrent: usize, queued: usize) -> Arc<ConcurrencyLimiter> {
        let wait = Duration::from_secs(5);
        Arc::new(ConcurrencyLimiter::new(
            "m",
            ConcurrencyLimit {
                concurrent,
                queued,
                wait,
            },
        ))
    }

    /// A call of an owner that waits by now.
    async fn waiting(
        limiter: &Arc<ConcurrencyLimiter>,
        owner: u64,
    ) -> tokio::task::JoinHandle<Result<CallPlace, CallError>> {
        let limiter = Arc::clone(limiter);
        let call = tokio::spawn(async move { limiter.acquire(owner).await });
        tokio::task::yield_now().await;
        call
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_a_place_and_the_queue_is_bounded() {
        let limiter = limiter(1, 1);
        let first = limiter.acquire(OWNER).await.unwrap();
        let second = waiting(&limiter, OWNER).await;
        let refused = limiter.acquire(OWNER).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "m is busy: 1 calls are running and 1 are waiting; try again later"
        );
        drop(first);
        drop(second.await.unwrap().unwrap());
        assert!(!limiter.is_saturated());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_does_not_wait_for_ever() {
        let limiter = limiter(1, 10);
        let _running = limiter.acquire(OWNER).await.unwrap();
        let refused = limiter.acquire(OWNER).await.unwrap_err();
        assert_eq!(refused.code(), "model-busy");
        assert_eq!(lock(limiter.queue()).len, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_gives_up_leaves_the_queue() {
        let limiter = limiter(1, 1);
        let running = limiter.acquire(OWNER).await.unwrap();
        let gave_up = tokio::time::timeout(Duration::from_secs(1), limiter.acquire(OWNER)).await;
        assert!(gave_up.is_err());
        assert_eq!(lock(limiter.queue()).len, 0);
        drop(running);
        assert!(!limiter.is_saturated());
    }

    #[tokio::test(start_paused = true)]
    async fn owners_take_turns() {
        let limiter = limiter(1, 10);
        let running = limiter.acquire(OWNER).await.unwrap();
        let mut own = Vec::new();
        for _ in 0..3 {
            own.push(waiting(&limiter, OWNER).await);
        }
        let other = waiting(&limiter, 2).await;
        drop(running);
        let first = own.remove(0).await.unwrap().unwrap();
        tokio::task::yield_now().await;
        assert!(!other.is_finished());
        drop(first);
        drop(other.await.unwrap().unwrap());
        for call in own {
            drop(call.await.unwrap().unwrap());
        }
        assert!(!limiter.is_saturated());
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_that_fills_the_queue_leaves_room_for_others() {
        let limiter = limiter(1, 4);
        let running = limiter.acquire(OWNER).await.unwrap();
        let mut own = Vec::new();
        for _ in 0..4 {
            own.push(waiting(&limiter, OWNER).await);
        }
        assert!(limiter.acquire(OWNER).await.is_err());
        let mut others = Vec::new();
        for owner in 2..6 {
            others.push(waiting(&limiter, owner).await);
        }
        // Now it is full for everybody.
        assert!(limiter.acquire(9).await.is_err());
        drop(running);
        let all = own.into_iter().chain(others);
        let all = all.map(|call| async { drop(call.await.unwrap().unwrap()) });
        futures_util::future::join_all(all).await;
    }

    #[tokio::test(start_paused = true)]
    async fn another_configuration_counts_the_calls_that_still_run() {
        let before = limiter(2, 10);
        let running = before.acquire(OWNER).await.unwrap();
        let other = before.acquire(OWNER).await.unwrap();
        let call = waiting(&before, OWNER).await;

        let lower = limiter(1, 10);
        lower.take_over(&before);
        drop(running);
        tokio::task::yield_now().await;
        assert!(!call.is_finished(), "two ran, and only one may");
        assert!(lower.is_saturated());
        drop(other);
        let running = call.await.unwrap().unwrap();
        assert!(lower.is_saturated());

        let call = waiting(&lower, OWNER).await;
        let higher = limiter(3, 10);
        higher.take_over(&lower);
        let granted = call.await.unwrap().unwrap();
        let last = higher.acquire(OWNER).await.unwrap();
        assert!(higher.is_saturated());
        drop((running, granted, last));
        assert_eq!(lock(higher.queue()).free, 3);

        // However far it is raised.
        let unlimited = limiter(usize::MAX, 10);
        unlimited.take_over(&higher);
        assert_eq!(lock(unlimited.queue()).free, usize::MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_queue_nobody_waits() {
        let limiter = limiter(1, 0);
        let _running = limiter.acquire(OWNER).await.unwrap();
        assert!(limiter.acquire(2).await.is_err());
    }
}
