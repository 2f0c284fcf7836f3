//! The kept runs that this server has, and how many it may have at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use prowess_engine::{RunJournal, StoredLog};
use prowess_store::TenantId;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use super::delayed_keys::DelayedKeys;

/// Kept runs that a server runs at once, and those of one tenant.
const MAX_RUNS: usize = 64;
const MAX_RUNS_PER_TENANT: usize = 16;

/// The kept runs of this server. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct LocalRuns(Arc<LocalState>);

#[derive(Debug)]
struct LocalState {
    /// The runtime of the runs: requests are served by others, which may end earlier.
    runtime: Option<Handle>,
    /// The name under which this server owns runs.
    owner: String,
    runs: Mutex<RunTable>,
    /// Notified when a run may be claimed.
    wake: Notify,
}

#[derive(Debug, Default)]
struct RunTable {
    journals: HashMap<String, Arc<RunJournal>>,
    running: usize,
    by_tenant: HashMap<TenantId, usize>,
    delayed_keys: DelayedKeys,
    /// Whether no more runs are started, because the server stops.
    is_closed: bool,
}

/// The place of one run.
#[derive(Debug)]
pub(crate) struct RunSlot {
    runs: LocalRuns,
    tenant: TenantId,
}

/// A run that this server has, until this is dropped.
#[derive(Debug)]
pub(super) struct LocalRun {
    runs: LocalRuns,
    journal: Arc<RunJournal>,
}

impl LocalRuns {
    pub(crate) fn new() -> Self {
        let random: u64 = fastrand::u64(..);
        LocalRuns(Arc::new(LocalState {
            runtime: Handle::try_current().ok(),
            owner: format!("server_{random:016x}"),
            runs: Mutex::default(),
            wake: Notify::new(),
        }))
    }

    /// The name under which this server owns runs.
    pub(crate) fn owner(&self) -> &str {
        &self.0.owner
    }

    /// Reserves a place for a run of a tenant, if there is one.
    pub(crate) fn reserve(&self, tenant: &TenantId) -> Option<RunSlot> {
        let mut table = self.table();
        let of_tenant = table.by_tenant.get(tenant).copied().unwrap_or_default();
        if table.running >= MAX_RUNS || of_tenant >= MAX_RUNS_PER_TENANT {
            return None;
        }
        self.take_slot(&mut table, tenant)
    }

    /// Reserves a place for a run that takes a moment, also if there are as many as there may be.
    pub(super) fn reserve_beyond_limits(&self, tenant: &TenantId) -> Option<RunSlot> {
        self.take_slot(&mut self.table(), tenant)
    }

    fn take_slot(&self, table: &mut RunTable, tenant: &TenantId) -> Option<RunSlot> {
        if table.is_closed {
            return None;
        }
        table.running += 1;
        *table.by_tenant.entry(tenant.clone()).or_default() += 1;
        Some(RunSlot {
            runs: self.clone(),
            tenant: tenant.clone(),
        })
    }

    /// How many more runs there may be, and the tenants that may have no more.
    pub(crate) fn capacity(&self) -> (usize, Vec<TenantId>) {
        let table = self.table();
        let full = table.by_tenant.iter();
        let full = full.filter(|(_, running)| **running >= MAX_RUNS_PER_TENANT);
        let free = if table.is_closed {
            0
        } else {
            MAX_RUNS.saturating_sub(table.running)
        };
        (free, full.map(|(tenant, _)| tenant.clone()).collect())
    }

    /// The keys of which only runs in progress are claimed now.
    pub(super) fn delayed_keys(&self) -> Vec<String> {
        self.table().delayed_keys.current(Instant::now())
    }

    /// Claims no runs of a key for some time, as the key's limits are used up for now.
    pub(super) fn delay_key(&self, key: &str) {
        self.table().delayed_keys.delay(key, Instant::now());
    }

    /// A run of this key was admitted.
    pub(super) fn shorten_delay(&self, key: &str) {
        self.table().delayed_keys.shorten(key);
    }

    /// How many runs there are.
    pub(crate) fn running(&self) -> usize {
        self.table().running
    }

    /// How many runs this server owns and has opened.
    pub(crate) fn leases(&self) -> usize {
        self.table().journals.len()
    }

    /// Whether no more runs are started, because the server stops.
    pub(super) fn is_closed(&self) -> bool {
        self.table().is_closed
    }

    /// Runs a task on the runtime of the runs.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match &self.0.runtime {
            Some(runtime) => drop(runtime.spawn(task)),
            None => drop(tokio::spawn(task)),
        }
    }

    /// Makes a run known as one that this server has.
    pub(super) fn insert(&self, journal: &Arc<RunJournal>) -> LocalRun {
        let run = journal.run().to_owned();
        self.table().journals.insert(run, Arc::clone(journal));
        LocalRun {
            runs: self.clone(),
            journal: Arc::clone(journal),
        }
    }

    /// Changes when events of a run are stored, if this server has the run.
    pub(crate) fn subscribe(&self, run: &str) -> Option<watch::Receiver<StoredLog>> {
        let table = self.table();
        table.journals.get(run).map(|journal| journal.subscribe())
    }

    /// Makes a run stop at once that was cancelled, if this server has it.
    pub(crate) fn notice_cancel(&self, run: &str) {
        if let Some(journal) = self.table().journals.get(run) {
            journal.notice_cancel();
        }
    }

    /// Looks for runs to claim at once.
    pub(crate) fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// Waits until there may be runs to claim.
    pub(crate) async fn woken(&self) {
        self.0.wake.notified().await;
    }

    /// Starts no more runs, and returns those that this server has.
    pub(crate) fn close(&self) -> Vec<Arc<RunJournal>> {
        let mut table = self.table();
        table.is_closed = true;
        table.journals.values().cloned().collect()
    }

    fn table(&self) -> MutexGuard<'_, RunTable> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LocalRun {
    fn drop(&mut self) {
        let mut table = self.runs.table();
        let run = self.journal.run();
        // This server may have lost the run and claimed it again meanwhile.
        let known = table.journals.get(run);
        if known.is_some_and(|known| Arc::ptr_eq(known, &self.journal)) {
            table.journals.remove(run);
        }
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        let mut table = self.runs.table();
        table.running = table.running.saturating_sub(1);
        if let Some(running) = table.by_tenant.get_mut(&self.tenant) {
            *running = running.saturating_sub(1);
            if *running == 0 {
                table.by_tenant.remove(&self.tenant);
            }
        }
        drop(table);
        self.runs.wake();
    }
}
