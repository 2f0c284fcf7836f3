//! Beginning a kept run, or finding the one that an idempotency key names.

use std::time::Instant;

use axum::http::StatusCode;
use prowess_engine::{FORMAT, lease_time};
use prowess_store::{BeginOutcome, Error as StoreError, NewJournalRun, Store, TenantId};
use prowess_wire::ClientDialect;

use super::pending_run::PendingRun;
use super::stored_request::StoredRequest;
use crate::app::App;
use crate::error::HttpError;

/// A run to be submitted.
pub(crate) struct Submission<'a> {
    pub(crate) tenant: &'a TenantId,
    /// The id of the key of the request; none for the operator.
    pub(crate) key: Option<&'a str>,
    pub(crate) idempotency_key: Option<&'a str>,
    /// Digest of the request as the client sent it.
    pub(crate) digest: &'a str,
    pub(crate) run: &'a str,
    pub(crate) request: StoredRequest,
    /// The container that it continues in, if it names one of Prowess's.
    pub(crate) container: Option<&'a str>,
}

/// What became of a submission.
pub(crate) enum Submitted {
    /// This server runs it, once the caller starts its task.
    Started(Box<PendingRun>),
    /// It waits until a server has a place for it. The caller has its request: to read it again
    /// could be refused, and who sends it again would have another run.
    Queued(Box<StoredRequest>),
    /// The request was sent before, and this is its run.
    Existing { run: String },
}

/// Stores a run. It is started if this server has a place for it and `may_start`.
///
/// # Errors
/// When the tenant has too many runs, the idempotency key was used for another request, or
/// the store fails.
pub(crate) async fn submit(
    app: &App,
    submission: Submission<'_>,
    may_start: bool,
) -> Result<Submitted, HttpError> {
    let store = app.store();
    let tenant = submission.tenant;
    let max_open = app.engine().settings().max_open_runs;
    // Checked again when it is stored; here so that nothing is written in vain.
    if store.count_open_runs(tenant).await? >= max_open && !is_repeated(store, &submission).await? {
        return Err(StoreError::TooManyRuns { limit: max_open }.into());
    }
    let bytes = submission.request.to_bytes()?;
    let new = NewJournalRun {
        id: submission.run,
        api_key: submission.key,
        dialect: submission.request.dialect(),
        model: &submission.request.model,
        kept: true,
        format: FORMAT,
        idempotency_key: submission.idempotency_key,
        request_digest: submission.digest,
        request: &bytes,
    };
    let local = app.local_runs();
    let slot = may_start.then(|| local.reserve(tenant)).flatten();
    let claimed = Instant::now();
    let owner = slot.as_ref().map(|_| (local.owner(), lease_time()));
    // One that waits for a server holds no container.
    let container = submission.container.filter(|_| slot.is_some());
    let stored = store.submit_run(tenant, &new, owner, container, max_open);
    let outcome = stored.await.map_err(HttpError::from)?;
    match (outcome, slot) {
        (BeginOutcome::Started(lease), Some(slot)) => {
            let key = submission.key.map(str::to_owned);
            Ok(Submitted::Started(Box::new(PendingRun {
                lease,
                claimed,
                request: submission.request,
                key,
                slot,
                is_lost_too_often: false,
            })))
        }
        (BeginOutcome::Started(_), None) => {
            local.wake();
            // Another gateway may have a place for it.
            if let Some(link) = app.cluster() {
                link.announce_runs();
            }
            Ok(Submitted::Queued(Box::new(submission.request)))
        }
        (BeginOutcome::Existing { run, same_request }, _) => {
            let run = existing(run, same_request)?;
            Ok(Submitted::Existing { run })
        }
    }
}

/// The run that a request with this idempotency key has begun, if there is one.
///
/// # Errors
/// When that was another request, or the store fails.
pub(crate) async fn find(
    app: &App,
    tenant: &TenantId,
    idempotency_key: &str,
    client: ClientDialect,
    digest: &str,
) -> Result<Option<String>, HttpError> {
    let found = app
        .store()
        .find_started_run(tenant, idempotency_key, client.as_str(), digest);
    match found.await? {
        Some(BeginOutcome::Existing { run, same_request }) => existing(run, same_request).map(Some),
        Some(BeginOutcome::Started(_)) | None => Ok(None),
    }
}

/// The run of a repeated request; an error if that was another request.
fn existing(run: String, same_request: bool) -> Result<String, HttpError> {
    if same_request {
        return Ok(run);
    }
    let message = "this `Idempotency-Key` was sent with another request; use another key, or send \
                   the same request";
    let error = HttpError::new(StatusCode::CONFLICT, "idempotency-key-reused", message);
    Err(error.with_detail("run", run).without_retry())
}

/// Whether the request was sent before, and needs no other run.
async fn is_repeated(store: &Store, submission: &Submission<'_>) -> Result<bool, HttpError> {
    let Some(key) = submission.idempotency_key else {
        return Ok(false);
    };
    let existing = store.run_by_idempotency_key(submission.tenant, key);
    Ok(existing.await?.is_some())
}
