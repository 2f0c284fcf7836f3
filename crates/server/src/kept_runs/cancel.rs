//! Cancelling a kept run.

use std::time::Duration;

use prowess_store::{CancelOutcome, JournalRun, NewWebhook, RunState, TenantId};

use super::end_webhooks::end_webhooks;
use super::key::find_stored_key;
use super::stored_request::StoredRequest;
use crate::app::App;
use crate::cluster::link::ClusterLink;
use crate::error::HttpError;
use crate::webhooks::payload::RunWebhook;

/// How long to wait until the server of a run has ended it.
const MAX_WAIT: Duration = Duration::from_secs(8);
/// How often to look.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A run that a client has cancelled.
pub(crate) struct CancelledRun {
    /// As it is then.
    pub(crate) run: JournalRun,
    /// Whether it had ended before, and so stays as it was.
    pub(crate) had_ended: bool,
}

/// Cancels a run. One that has ended stays as it is. Waits for the tenant's turn to read stored
/// texts: whoever has a permit for that gives it back before.
///
/// # Errors
/// When the tenant has no such run, or the store fails.
pub(crate) async fn cancel(
    app: &App,
    tenant: &TenantId,
    run: &str,
) -> Result<CancelledRun, HttpError> {
    let (outcome, ended) = {
        // The request of the run may be large, and so may its result.
        let _permit = app.transfers().acquire_stored_read(tenant).await?;
        let outcome = request(app, tenant, run).await?;
        let ended = match outcome {
            CancelOutcome::Requested => None,
            CancelOutcome::Cancelled | CancelOutcome::AlreadyEnded(_) => {
                Some(app.store().journal_run(tenant, run).await?)
            }
        };
        (outcome, ended)
    };
    let current = match ended {
        Some(ended) => ended,
        None => wait(app, tenant, run).await?,
    };
    Ok(CancelledRun {
        run: current,
        had_ended: matches!(outcome, CancelOutcome::AlreadyEnded(_)),
    })
}

/// Requests that a run be cancelled, and does not wait until it is.
///
/// # Errors
/// As [`cancel`].
pub(crate) async fn request(
    app: &App,
    tenant: &TenantId,
    run: &str,
) -> Result<CancelOutcome, HttpError> {
    let store = app.store();
    let stored = store.journal_request(tenant, run).await?;
    let request = StoredRequest::parse(&stored)?;
    let key = match store.journal_key(tenant, run).await? {
        Some(id) => find_stored_key(app, tenant, &id).await?,
        None => None,
    };
    let state = RunState::Cancelled;
    let webhooks = end_webhooks(app, tenant, run, &request, key.as_deref(), state);
    let new: Vec<NewWebhook<'_>> = webhooks.iter().map(RunWebhook::as_new).collect();
    let outcome = store.cancel_run(tenant, run, &new).await?;
    match outcome {
        CancelOutcome::Cancelled if !new.is_empty() => app.webhook_wake().notify_one(),
        CancelOutcome::Requested => app.local_runs().notice_cancel(run),
        CancelOutcome::Cancelled | CancelOutcome::AlreadyEnded(_) => {}
    }
    if let Some(link) = app.cluster() {
        announce(link, run, &outcome);
    }
    Ok(outcome)
}

/// Makes the gateway that has the run, or those that listen to it, look into the store.
fn announce(link: &ClusterLink, run: &str, outcome: &CancelOutcome) {
    match outcome {
        CancelOutcome::Requested => link.announce_cancel(run),
        CancelOutcome::Cancelled => link.announce_end(run),
        CancelOutcome::AlreadyEnded(_) => {}
    }
}

/// Waits until a run has ended. If its server does not answer, it is returned as it is: the
/// run ends when that server finds out, or when its lease has run out.
async fn wait(app: &App, tenant: &TenantId, run: &str) -> Result<JournalRun, HttpError> {
    let deadline = tokio::time::Instant::now() + MAX_WAIT;
    loop {
        let current = app.store().journal_run(tenant, run).await?;
        let is_over = current.state != RunState::Running;
        if is_over || tokio::time::Instant::now() >= deadline {
            return Ok(current);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
