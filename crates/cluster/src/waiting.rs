//! Commands that wait until a worker has room: bounded, and fair between tenants, which take
//! turns. When the line is full, a command of a tenant with fewer displaces the last one of the
//! tenant with most.
//!
//! It does not know workers: whoever learns that there is room wakes as many as may try.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    /// There may be room now.
    Room,
    /// A tenant with fewer waiting commands took the place.
    Displaced,
    /// The time is over.
    Deadline,
}

/// No more can wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineFull;

/// The line.
#[derive(Debug)]
pub(crate) struct WaitLine {
    state: Mutex<LineState>,
    max: usize,
}

#[derive(Debug, Default)]
struct LineState {
    tenants: HashMap<Arc<str>, BTreeMap<u64, oneshot::Sender<WaitEnd>>>,
    /// Tenants that wait, each once, in the order of their turns.
    turns: VecDeque<Arc<str>>,
    waiting: usize,
    numbers: u64,
}

/// A place in the line, given up when dropped.
#[derive(Debug)]
pub(crate) struct Waiter<'a> {
    line: &'a WaitLine,
    tenant: Arc<str>,
    number: u64,
    receiver: oneshot::Receiver<WaitEnd>,
}

impl WaitLine {
    /// A line for at most so many.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            state: Mutex::default(),
            max,
        }
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().waiting
    }

    /// Joins the line. One that waited before and found no room passes the `place` it had, and
    /// is before those of its tenant that came later.
    pub(crate) fn join(&self, tenant: &str, place: Option<u64>) -> Result<Waiter<'_>, LineFull> {
        let tenant: Arc<str> = tenant.into();
        let mut state = self.lock();
        if state.waiting >= self.max {
            state.displace(&tenant).ok_or(LineFull)?;
        }
        let number = place.unwrap_or_else(|| {
            state.numbers += 1;
            state.numbers
        });
        let (sender, receiver) = oneshot::channel();
        let line = state.tenants.entry(Arc::clone(&tenant)).or_default();
        let is_first = line.is_empty();
        line.insert(number, sender);
        state.waiting += 1;
        if is_first {
            state.turns.push_back(Arc::clone(&tenant));
        }
        drop(state);
        Ok(Waiter {
            line: self,
            tenant,
            number,
            receiver,
        })
    }

    /// Wakes up to `count` of those who wait, tenants in turn.
    pub(crate) fn wake(&self, count: usize) {
        let mut state = self.lock();
        for _ in 0..count {
            // One that has just left is removed by its own `Drop`, and wakes the next.
            match state.pop_next() {
                Some(waiter) => drop(waiter.send(WaitEnd::Room)),
                None => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LineState {
    fn pop_next(&mut self) -> Option<oneshot::Sender<WaitEnd>> {
        let tenant = self.turns.pop_front()?;
        let line = self.tenants.get_mut(&tenant)?;
        let first = line.pop_first().map(|(_, waiter)| waiter);
        if line.is_empty() {
            self.tenants.remove(&tenant);
        } else {
            self.turns.push_back(tenant);
        }
        self.waiting -= usize::from(first.is_some());
        first
    }

    /// Removes the last waiter of the tenant with most, if that has at least two more than
    /// `tenant`.
    fn displace(&mut self, tenant: &Arc<str>) -> Option<()> {
        let own = self.tenants.get(tenant).map_or(0, BTreeMap::len);
        let most = self.tenants.iter().max_by_key(|(_, line)| line.len());
        let (largest, line) = most?;
        if line.len() < own + 2 {
            return None;
        }
        let (largest, number) = (Arc::clone(largest), *line.keys().next_back()?);
        let last = self.remove(&largest, number)?;
        // The send fails only if the waiter has just left.
        let _ = last.send(WaitEnd::Displaced);
        Some(())
    }

    fn remove(&mut self, tenant: &Arc<str>, number: u64) -> Option<oneshot::Sender<WaitEnd>> {
        let line = self.tenants.get_mut(tenant)?;
        let removed = line.remove(&number)?;
        if line.is_empty() {
            self.tenants.remove(tenant);
            self.turns.retain(|waiting| waiting != tenant);
        }
        self.waiting -= 1;
        Some(removed)
    }
}

impl Waiter<'_> {
    /// The place, for joining again.
    pub(crate) fn place(&self) -> u64 {
        self.number
    }

    /// Waits until there may be room.
    pub(crate) async fn wait(&mut self, deadline: Instant) -> WaitEnd {
        match tokio::time::timeout_at(deadline, &mut self.receiver).await {
            Ok(end) => end.unwrap_or(WaitEnd::Displaced),
            Err(_) => WaitEnd::Deadline,
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let left = self.line.lock().remove(&self.tenant, self.number);
        // One that was woken and leaves without having tried passes the room on.
        if left.is_none() && self.receiver.try_recv() == Ok(WaitEnd::Room) {
            self.line.wake(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    async fn ends(waiters: Vec<Waiter<'_>>) -> Vec<WaitEnd> {
        let mut ends = Vec::new();
        for mut waiter in waiters {
            ends.push(waiter.wait(Instant::now() + Duration::from_secs(1)).await);
        }
        ends
    }

    #[tokio::test(start_paused = true)]
    async fn tenants_take_turns_however_many_one_of_them_has() {
        let line = WaitLine::new(100);
        let many: Vec<_> = (0..10).map(|_| line.join("many", None).unwrap()).collect();
        let few: Vec<_> = (0..2).map(|_| line.join("few", None).unwrap()).collect();
        line.wake(4);
        assert_eq!(line.len(), 8);
        use WaitEnd::{Deadline, Room};
        assert_eq!(ends(few).await, [Room, Room]);
        let many = ends(many).await;
        assert_eq!(many.get(..3), Some([Room, Room, Deadline].as_slice()));
        assert_eq!(line.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_line_has_room_for_a_tenant_with_fewer() {
        let line = WaitLine::new(3);
        let first = line.join("many", None).unwrap();
        let second = line.join("many", None).unwrap();
        let third = line.join("many", None).unwrap();
        assert_eq!(line.join("many", None).unwrap_err(), LineFull);
        let other = line.join("few", None).unwrap();
        assert_eq!(line.len(), 3);
        // Two and one: nobody has two more than anybody else.
        assert_eq!(line.join("few", None).unwrap_err(), LineFull);
        line.wake(3);
        use WaitEnd::{Displaced, Room};
        let all = ends(vec![first, second, third, other]).await;
        assert_eq!(all, [Room, Room, Displaced, Room]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_found_no_room_keeps_its_place() {
        let line = WaitLine::new(10);
        let first = line.join("tenant", None).unwrap();
        let second = line.join("tenant", None).unwrap();
        let place = first.place();
        line.wake(1);
        assert_eq!(ends(vec![first]).await, [WaitEnd::Room]);
        let again = line.join("tenant", Some(place)).unwrap();
        line.wake(1);
        let ends = ends(vec![again, second]).await;
        assert_eq!(ends, [WaitEnd::Room, WaitEnd::Deadline]);
    }

    #[tokio::test(start_paused = true)]
    async fn room_is_passed_on_by_one_who_leaves() {
        let line = WaitLine::new(10);
        let leaves = line.join("a", None).unwrap();
        let stays = line.join("b", None).unwrap();
        line.wake(1);
        drop(leaves);
        assert_eq!(ends(vec![stays]).await, [WaitEnd::Room]);
        line.wake(5);
        assert_eq!(line.len(), 0);
    }
}
