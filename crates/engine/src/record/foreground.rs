//! The foreground runs of this process that the store is to know of, so that another server
//! records them if this one dies.
//!
//! A run has a row only if it takes longer than a moment (`WRITE_DELAY`): most are over by then,
//! and cost nothing. What has changed since the last write is written, not each change. Once a
//! run may have a row, its record and its usage wait here until both are known, and are written
//! together with the end of the row.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prowess_store::{EndedForegroundRun, ForegroundRun, NewRun, TenantId, UsageRow};
use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use super::tracked_run::{DueWrites, RowState, TrackedRun};

/// Runs that may have rows; further ones have none. Of one tenant, and of all.
const MAX_TENANT_RUNS: usize = 1_024;
const MAX_RUNS: usize = 4_096;
/// Runs that have ended and are not written yet; the events of further ones are dropped.
const MAX_ENDED_RUNS: usize = 1_024;
/// Runs written in one transaction.
const BATCH_RUNS: usize = 128;
/// A run that could not be written this often is written alone.
const MAX_BATCH_ATTEMPTS: u32 = 3;

/// The foreground runs of this process.
#[derive(Debug)]
pub(super) struct ForegroundRuns {
    /// The name under which it owns them.
    pub(super) owner: Arc<str>,
    state: Mutex<TrackerState>,
    /// There are runs.
    has_runs: Notify,
    /// Something is to be written now.
    write_now: Notify,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct TrackerState {
    runs: HashMap<String, TrackedRun>,
    by_tenant: HashMap<TenantId, usize>,
    /// Whether the writer waits for [`ForegroundRuns::has_runs`].
    writer_is_idle: bool,
    flush_waiters: Vec<oneshot::Sender<()>>,
}

impl ForegroundRuns {
    pub(super) fn new(owner: Arc<str>) -> Self {
        ForegroundRuns {
            owner,
            state: Mutex::default(),
            has_runs: Notify::new(),
            write_now: Notify::new(),
            dropped: AtomicU64::new(0),
        }
    }

    /// A run begins. Returns false if there are too many: then it has no row.
    pub(super) fn begin(&self, run: ForegroundRun) -> bool {
        let mut state = self.state();
        let tenant = run.usage.tenant.clone();
        let of_tenant = state.by_tenant.get(&tenant).copied().unwrap_or_default();
        if state.runs.len() >= MAX_RUNS || of_tenant >= MAX_TENANT_RUNS {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        *state.by_tenant.entry(tenant).or_default() += 1;
        let id = run.id.clone();
        state.runs.insert(id, TrackedRun::new(run));
        // The writer looks for itself while there are runs: waking it costs more than this.
        if std::mem::take(&mut state.writer_is_idle) {
            self.has_runs.notify_one();
        }
        true
    }

    /// A turn of the run has finished.
    pub(super) fn update(&self, run: ForegroundRun) {
        if let Some(tracked) = self.state().runs.get_mut(&run.id) {
            tracked.run = run;
            tracked.is_changed = true;
        }
    }

    /// The run has ended. Returns its record if it has no row: then it goes to the queue.
    pub(super) fn end(&self, mut record: NewRun) -> Option<NewRun> {
        let mut state = self.state();
        if state.runs.len() > MAX_ENDED_RUNS && state.ended() >= MAX_ENDED_RUNS {
            record.events = Value::Array(Vec::new());
        }
        let id = record.id.clone();
        match state.tracked(&id) {
            Some(tracked) => {
                tracked.end.record = Some(Box::new(record));
                self.write_if_ended(tracked);
                None
            }
            None => Some(record),
        }
    }

    /// The usage of the whole run; none if nobody counts it. Returns it if the run has no row.
    pub(super) fn set_usage(&self, run: &str, usage: Option<UsageRow>) -> Option<UsageRow> {
        match self.state().tracked(run) {
            Some(tracked) => {
                tracked.end.usage = Some(usage.map(Box::new));
                self.write_if_ended(tracked);
                None
            }
            None => usage,
        }
    }

    fn write_if_ended(&self, tracked: &TrackedRun) {
        if tracked.end.is_known() {
            self.write_now.notify_one();
        }
    }

    /// How many runs have no row because there were too many.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all runs that have ended are written, or could not be.
    pub(super) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        {
            let mut state = self.state();
            state.flush_waiters.push(done);
            state.writer_is_idle = false;
        }
        self.has_runs.notify_one();
        self.write_now.notify_one();
        // An error means that the writer has ended with its runtime.
        let _ = written.await;
    }

    /// Waits until there may be something to write: at most `delay`, if there are runs.
    pub(super) async fn wait(&self, delay: Duration) {
        let is_idle = {
            let mut state = self.state();
            state.writer_is_idle = state.runs.is_empty() && state.flush_waiters.is_empty();
            state.writer_is_idle
        };
        if is_idle {
            self.has_runs.notified().await;
        }
        // Ends early when a run has ended or a flush is requested.
        let _ = tokio::time::timeout(delay, self.write_now.notified()).await;
    }

    pub(super) fn take_flush_waiters(&self) -> Vec<oneshot::Sender<()>> {
        std::mem::take(&mut self.state().flush_waiters)
    }

    /// Whether any run may have a row.
    pub(super) fn has_rows(&self) -> bool {
        let state = self.state();
        let mut runs = state.runs.values();
        runs.any(|run| matches!(run.row, RowState::Uncertain | RowState::Stored(_)))
    }

    /// Takes what is to be written now: those that can be written together, or else one that
    /// failed before.
    pub(super) fn take_due(&self) -> DueWrites {
        let mut state = self.state();
        let mut due = DueWrites::default();
        for tracked in state.runs.values_mut() {
            if due.len() >= BATCH_RUNS {
                return due;
            }
            if tracked.attempts < MAX_BATCH_ATTEMPTS {
                tracked.take_due(&mut due);
            }
        }
        if due.is_empty() {
            let failed = state.runs.values_mut();
            let failed = failed.filter(|run| run.attempts >= MAX_BATCH_ATTEMPTS);
            if let Some(tracked) = failed.min_by_key(|run| run.attempts) {
                tracked.take_due(&mut due);
            }
        }
        due
    }

    /// These rows were written, except those in `gone`.
    pub(super) fn mark_written(&self, written: Vec<ForegroundRun>, gone: &[String]) {
        let mut state = self.state();
        for run in written {
            let Some(tracked) = state.runs.get_mut(&run.id) else {
                continue;
            };
            tracked.attempts = 0;
            if !gone.contains(&run.id) {
                tracked.row = RowState::Stored(Box::new(run.usage));
            } else if let RowState::Stored(usage) = &mut tracked.row {
                tracked.row = RowState::Gone(std::mem::replace(usage, Box::new(run.usage)));
            }
        }
    }

    /// These rows could not be written. They are written again, or never if that is in vain.
    pub(super) fn mark_unwritten(&self, rows: &[ForegroundRun], retries: bool) {
        let mut state = self.state();
        for run in rows {
            match state.runs.get_mut(&run.id) {
                Some(tracked) if retries => {
                    tracked.is_changed = true;
                    tracked.attempts = tracked.attempts.saturating_add(1);
                }
                Some(tracked) => tracked.is_changed = false,
                None => {}
            }
        }
    }

    /// These runs were ended in the store.
    pub(super) fn mark_ended(&self, ended: &[EndedForegroundRun]) {
        let mut state = self.state();
        for run in ended {
            state.remove(&run.record.id);
        }
    }

    /// These runs could not be ended, and are ended again later.
    pub(super) fn put_back(&self, ended: Vec<EndedForegroundRun>) {
        let mut state = self.state();
        for run in ended {
            if let Some(tracked) = state.runs.get_mut(&run.record.id) {
                tracked.attempts = tracked.attempts.saturating_add(1);
                tracked.end.record = Some(Box::new(run.record));
                tracked.end.usage = Some(run.usage.map(Box::new));
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, TrackerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TrackerState {
    /// A run that may have a row. One that has none is forgotten: it ends without one.
    fn tracked(&mut self, id: &str) -> Option<&mut TrackedRun> {
        if matches!(self.runs.get(id)?.row, RowState::Absent) {
            self.remove(id);
            return None;
        }
        self.runs.get_mut(id)
    }

    fn remove(&mut self, id: &str) {
        let Some(tracked) = self.runs.remove(id) else {
            return;
        };
        if let Entry::Occupied(mut runs) = self.by_tenant.entry(tracked.run.usage.tenant) {
            *runs.get_mut() -= 1;
            if *runs.get() == 0 {
                runs.remove();
            }
        }
    }

    fn ended(&self) -> usize {
        let runs = self.runs.values();
        runs.filter(|run| run.end.record.is_some()).count()
    }
}

#[cfg(test)]
mod tests;
