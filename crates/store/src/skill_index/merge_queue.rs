//! When blocks are merged: soon after an upload or a deletion, in the background, for one
//! tenant at a time. A merge that is lost, as the process ends, is made up for after the next
//! upload; searches need no merge to be right.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::write::IndexChange;
use crate::Store;
use crate::tenant::TenantId;

/// Tenants that wait. One that finds no place is queued by its next upload.
const MAX_WAITING: usize = 1_000;

/// The tenants whose blocks are to be merged.
#[derive(Debug, Default)]
pub(crate) struct MergeQueue(Mutex<QueueState>);

#[derive(Debug, Default)]
struct QueueState {
    is_running: bool,
    waiting: VecDeque<TenantId>,
}

impl MergeQueue {
    /// Adds a tenant. Returns whether a task must be started.
    fn push(&self, tenant: &TenantId) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.waiting.len() < MAX_WAITING && !state.waiting.contains(tenant) {
            state.waiting.push_back(tenant.clone());
        }
        !std::mem::replace(&mut state.is_running, true)
    }

    /// The next tenant. The task must end if there is none.
    fn pop(&self) -> Option<TenantId> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = state.waiting.pop_front();
        state.is_running = next.is_some();
        next
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
            let state = self.store.merge_queue().0.lock();
            state.unwrap_or_else(PoisonError::into_inner).is_running = false;
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
            while let Some(tenant) = task.store.merge_queue().pop() {
                // A failure leaves the blocks as they were; the next upload tries again.
                let _ = task.store.merge_tenant(&tenant).await;
            }
            task.end();
        });
    }
}
