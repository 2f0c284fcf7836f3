//! Runs that were not kept and whose server died: recorded as interrupted, with their usage.
//!
//! What the store knows of such runs is written by `prowess-engine`, in the background.

use std::time::Instant;

use prowess_engine::lease_time;
use prowess_store::Error as StoreError;

use crate::app::App;

const DROPPED_METRIC: &str = "prowess_run_records_dropped_total";

/// When servers that died were last looked for.
#[derive(Debug, Default)]
pub(crate) struct InterruptedRuns {
    searched: Option<Instant>,
}

impl InterruptedRuns {
    /// Records the runs of servers that died, at the first call and then as often as a live
    /// server renews its lease.
    pub(crate) async fn record(&mut self, app: &App) -> Result<(), StoreError> {
        let is_due = |last: Instant| last.elapsed() >= lease_time() / 3;
        if !self.searched.is_none_or(is_due) {
            return Ok(());
        }
        self.searched = Some(Instant::now());
        let engine = app.engine();
        metrics::counter!(DROPPED_METRIC).absolute(engine.dropped_records());
        let recorded = engine.record_interrupted_runs().await?;
        if recorded > 0 {
            tracing::warn!(runs = recorded, "runs of a server that died were recorded");
        }
        Ok(())
    }
}
