//! When blocks are merged: soon after an upload or a deletion, in the background, for one
//! tenant at a time; and once more when the tenant's index has not changed for a while. A merge that
//! is lost, as the process ends, is made up for after the next upload; searches need no merge to be
//! right.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::limits::QUIET_AFTER;
use super::write::IndexChange;
use crate::Store;
use crate::tenant::TenantId;

/// Tenants that wait. One that finds no place is queued by its next upload.
const MAX_WAITING: usize = 1_000;

/// The tenants whose blocks are to be merged.
#[derive(Debug, Default)]
pub(crate) struct MergeQueue {
    state: Mutex<QueueState>,
    pushed: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    is_running: bool,
    waiting: VecDeque<TenantId>,
    /// Tenants whose blocks were merged, and when they are merged once more, the first one first.
    quiet: VecDeque<(TenantId, Instant)>,
}

/// What the task does next.
#[derive(Debug, PartialEq)]
enum NextMerge {
    /// The blocks of this tenant, whose index has changed.
    Changed(TenantId),
    /// The blocks of this tenant, whose index is not changing any more.
    Quiet(TenantId),
    /// Nothing before this time, unless another tenant is pushed.
    Wait(Instant),
    /// The task must end.
    None,
}

impl MergeQueue {
    /// Adds a tenant. Returns whether a task must be started.
    fn push(&self, tenant: &TenantId) -> bool {
        let mut state = self.state();
        if state.waiting.len() < MAX_WAITING && !state.waiting.contains(tenant) {
            state.waiting.push_back(tenant.clone());
        }
        self.pushed.notify_one();
        !std::mem::replace(&mut state.is_running, true)
    }

    fn next(&self, now: Instant) -> NextMerge {
        let mut state = self.state();
        if let Some(tenant) = state.waiting.pop_front() {
            state.quiet.retain(|(quiet, _)| *quiet != tenant);
            if state.quiet.len() < MAX_WAITING {
                state.quiet.push_back((tenant.clone(), now + QUIET_AFTER));
            }
            return NextMerge::Changed(tenant);
        }
        match state.quiet.pop_front() {
            Some((tenant, due)) if due <= now => NextMerge::Quiet(tenant),
            Some((tenant, due)) => {
                state.quiet.push_front((tenant, due));
                NextMerge::Wait(due)
            }
            None => {
                state.is_running = false;
                NextMerge::None
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets another task start if this one is dropped before it has ended.
struct MergeTask {
    store: Store,
    has_ended: bool,
}

impl MergeTask {
    fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for MergeTask {
    fn drop(&mut self) {
        if !self.has_ended {
            self.store.merge_queue().state().is_running = false;
        }
    }
}

impl Store {
    /// Must be called after the commit of a change of the index. Tests merge by themselves.
    pub(crate) fn merge_soon(&self, tenant: &TenantId, change: IndexChange) {
        if !change.merge || cfg!(test) || !self.merge_queue().push(tenant) {
            return;
        }
        let task = MergeTask {
            store: self.clone(),
            has_ended: false,
        };
        tokio::spawn(async move {
            let (store, queue) = (&task.store, task.store.merge_queue());
            // A failure leaves the blocks as they were; the next upload tries again.
            loop {
                match queue.next(Instant::now()) {
                    NextMerge::Changed(tenant) => drop(store.merge_tenant(&tenant).await),
                    NextMerge::Quiet(tenant) => drop(store.merge_quiet_tenant(&tenant).await),
                    NextMerge::Wait(due) => {
                        let pushed = queue.pushed.notified();
                        drop(tokio::time::timeout_at(due, pushed).await);
                    }
                    NextMerge::None => break,
                }
            }
            task.end();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_is_merged_once_more_when_its_index_has_not_changed_for_a_while() {
        let queue = MergeQueue::default();
        let [one, two] = ["one", "two"].map(|name| TenantId::new(name).unwrap());
        let start = Instant::now();
        assert!(queue.push(&one));
        assert!(!queue.push(&two) && !queue.push(&one));
        assert_eq!(queue.next(start), NextMerge::Changed(one.clone()));
        assert_eq!(queue.next(start), NextMerge::Changed(two.clone()));
        assert_eq!(queue.next(start), NextMerge::Wait(start + QUIET_AFTER));
        // Another change of the first one: the second comes before it.
        let later = start + QUIET_AFTER / 2;
        assert!(!queue.push(&one));
        assert_eq!(queue.next(later), NextMerge::Changed(one.clone()));
        let due = start + QUIET_AFTER;
        assert_eq!(queue.next(later), NextMerge::Wait(due));
        assert_eq!(queue.next(due), NextMerge::Quiet(two));
        assert_eq!(queue.next(due), NextMerge::Wait(later + QUIET_AFTER));
        assert_eq!(
            queue.next(later + QUIET_AFTER),
            NextMerge::Quiet(one.clone())
        );
        assert_eq!(queue.next(later + QUIET_AFTER), NextMerge::None);
        // The task has ended.
        assert!(queue.push(&one));
    }
}
