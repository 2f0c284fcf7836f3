//! What a worker does regularly: it announces itself, ends commands that nobody waits for,
//! forgets old results and expired copies.

use super::state::WorkerState;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior};

/// How often expired copies are removed.
const TIDY_INTERVAL: Duration = Duration::from_secs(60);

/// Announces a worker until it is dropped.
pub(super) async fn announce(state: Arc<WorkerState>) {
    let mut ticks = tokio::time::interval(state.settings.beat_interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut tidied = Instant::now();
    loop {
        ticks.tick().await;
        state.publish_beat().await;
        let (keep, retention) = (state.settings.keep_timeout, state.settings.result_retention);
        if !state.bus.is_connected() {
            state.commands().keep_all(Instant::now());
        }
        state.commands().expire(Instant::now(), keep, retention);
        if tidied.elapsed() >= TIDY_INTERVAL {
            tidied = Instant::now();
            state.tidy().await;
        }
    }
}

impl WorkerState {
    /// Removes copies that were not used for long.
    async fn tidy(&self) {
        if let Err(error) = self.sandbox.expire().await {
            tracing::warn!(error = %error.detail(), "expired copies cannot be removed");
        }
        let existing = self.sandbox.containers();
        let existing: HashSet<String> = existing.into_iter().map(|one| one.id).collect();
        self.copies.tidy(&existing);
    }
}
