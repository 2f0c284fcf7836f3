//! The task that writes the rows of foreground runs, several in one transaction, and renews the
//! lease of this process on all of them.

use std::sync::Arc;

use prowess_store::{EndedForegroundRun, Store};
use tokio::time::Instant;

use super::foreground::ForegroundRuns;
use super::tracked_run::{DueWrites, WRITE_DELAY};
use crate::kept::lease_times::lease_time;

/// How often the delay is doubled while the store cannot be written.
const MAX_DOUBLINGS: u32 = 5;

pub(super) async fn run_writer(store: Store, runs: Arc<ForegroundRuns>) {
    let mut renewed = Instant::now();
    let mut failures = 0;
    loop {
        let doublings = 1 << u32::min(failures, MAX_DOUBLINGS);
        runs.wait(WRITE_DELAY * doublings).await;
        let flushed = runs.take_flush_waiters();
        let is_written = write_all(&store, &runs).await;
        failures = if is_written { 0 } else { failures + 1 };
        if renewed.elapsed() >= lease_time() / 3 {
            renewed = Instant::now();
            renew(&store, &runs).await;
        }
        for waiter in flushed {
            // It may have stopped waiting.
            let _ = waiter.send(());
        }
    }
}

/// Writes everything that is due; false if the store failed.
async fn write_all(store: &Store, runs: &ForegroundRuns) -> bool {
    loop {
        let DueWrites {
            new,
            changed,
            ended,
        } = runs.take_due();
        if new.is_empty() && changed.is_empty() && ended.is_empty() {
            return true;
        }
        let mut is_written = true;
        if !new.is_empty() || !changed.is_empty() {
            let written = store.write_foreground_runs(&runs.owner, lease_time(), &new, &changed);
            match written.await {
                Ok(gone) => {
                    runs.mark_written(new, &[]);
                    runs.mark_written(changed, &gone);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot store runs in progress");
                    let rows = [new, changed].concat();
                    let retries = error.is_transient() || rows.len() > 1;
                    runs.mark_unwritten(&rows, retries);
                    is_written = false;
                }
            }
        }
        if !ended.is_empty() {
            is_written &= end_runs(store, runs, ended).await;
        }
        if !is_written {
            return false;
        }
    }
}

async fn end_runs(store: &Store, runs: &ForegroundRuns, ended: Vec<EndedForegroundRun>) -> bool {
    match store.end_foreground_runs(&ended).await {
        Ok(()) => {
            runs.mark_ended(&ended);
            true
        }
        Err(error) if !error.is_transient() && ended.len() == 1 => {
            // Its row stays, and is recorded as interrupted when this process has ended.
            tracing::error!(%error, "cannot write the record of a run");
            runs.mark_ended(&ended);
            true
        }
        Err(error) => {
            tracing::warn!(%error, "cannot write the records of runs yet");
            runs.put_back(ended);
            false
        }
    }
}

async fn renew(store: &Store, runs: &ForegroundRuns) {
    if !runs.has_rows() {
        return;
    }
    if let Err(error) = store.renew_foreground_runs(&runs.owner, lease_time()).await {
        tracing::warn!(%error, "cannot renew the lease on runs in progress");
    }
}
