//! Taking over runs that no server has: those that wait for their first server, and those whose
//! server died.

use std::time::{Duration, Instant};

use prowess_engine::{FORMAT, lease_time};
use prowess_store::{ClaimedRun, RunLease, RunResult, RunState};
use tokio_util::sync::CancellationToken;

use super::outcome::RunOutcome;
use super::pending_run::PendingRun;
use super::stored_request::StoredRequest;
use super::task;
use crate::app::App;
use crate::interrupted_runs::InterruptedRuns;

/// How often runs are looked for. Those that this server queues, or that another gateway of its
/// cluster announces, are claimed at once.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The same, when the store has failed.
const FAILURE_INTERVAL: Duration = Duration::from_secs(10);
/// Runs claimed at once.
const MAX_CLAIMS: usize = 8;
/// Servers that may die with a run in succession, without a finished step in between. The run may
/// be why they die: resumed again and again, it would leave no server for any other.
const MAX_LOSSES: u32 = 10;

/// Claims runs until the server stops.
pub(crate) async fn run(app: App, stop: CancellationToken) {
    let mut interval = POLL_INTERVAL;
    let mut interrupted = InterruptedRuns::default();
    loop {
        if let Err(error) = interrupted.record(&app).await {
            tracing::warn!(%error, "cannot record the runs of servers that died");
        }
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(interval) => {}
            () = app.local_runs().woken() => {}
        }
        interval = match claim(&app.current()).await {
            Ok(()) => POLL_INTERVAL,
            Err(error) => {
                tracing::warn!(%error, "cannot claim runs");
                FAILURE_INTERVAL
            }
        };
    }
}

async fn claim(app: &App) -> Result<(), prowess_store::Error> {
    loop {
        let local = app.local_runs();
        let (free, full_tenants) = local.capacity();
        let limit = u32::try_from(free.min(MAX_CLAIMS)).unwrap_or_default();
        if limit == 0 {
            return Ok(());
        }
        let delayed_keys = local.delayed_keys();
        let claimed = Instant::now();
        let (owner, lease, store) = (local.owner(), lease_time(), app.store());
        let runs = store
            .claim_runs(owner, lease, FORMAT, limit, &full_tenants, &delayed_keys)
            .await?;
        if runs.is_empty() {
            return Ok(());
        }
        for run in runs {
            start(app, run, claimed).await?;
        }
    }
}

async fn start(app: &App, run: ClaimedRun, claimed: Instant) -> Result<(), prowess_store::Error> {
    if run.losses > MAX_LOSSES {
        // Another server died when it read the journal to end the run.
        let outcome = RunOutcome::Error(task::lost_too_often());
        return fail_unread(app, &run.lease, &outcome).await;
    }
    let local = app.local_runs();
    let slot = match run.cancel_requested {
        // It only has to be ended.
        true => local.reserve_beyond_limits(&run.lease.tenant),
        false => local.reserve(&run.lease.tenant),
    };
    let Some(slot) = slot else {
        // Others of its tenant were claimed with it, or requests took the place.
        return app.store().return_run(&run.lease).await.map(drop);
    };
    let request = match StoredRequest::parse(&run.request) {
        Ok(request) => request,
        Err(error) => {
            tracing::error!(%error, run = run.lease.run, "the request of a run cannot be read");
            let outcome = RunOutcome::without_result(RunState::Failed);
            return fail_unread(app, &run.lease, &outcome).await;
        }
    };
    let is_cancelled = run.cancel_requested;
    let name = run.lease.run.clone();
    let pending = PendingRun {
        lease: run.lease,
        claimed,
        request,
        key: run.api_key,
        slot,
        is_lost_too_often: run.losses >= MAX_LOSSES,
    };
    tracing::debug!(run = name, "run claimed");
    task::spawn(app, pending, None, is_cancelled);
    Ok(())
}

/// Ends a run of which no server can read what is stored. Webhooks do not announce it.
async fn fail_unread(
    app: &App,
    lease: &RunLease,
    outcome: &RunOutcome,
) -> Result<(), prowess_store::Error> {
    let result = RunResult {
        state: RunState::Failed,
        body: &outcome.to_json(),
        events: None,
    };
    app.store().end_run(lease, &result, &[]).await.map(drop)
}
