//! Reads the body of a new batch, of any size, with one of its requests in memory at a time.

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use prowess_store::{BatchRecord, Store};

use super::batch_body::BatchBody;
use crate::app::App;
use crate::batches::anthropic;
use crate::batches::item::{ItemProblem, parse_message_request};
use crate::batches::item_writer::{ItemWriter, WriteStop};
use crate::batches::requests_scanner::{RequestsScanner, ScanError};
use crate::error::HttpError;
use crate::route::batch_key::reused_error;

/// The only attempt to receive a batch.
const ATTEMPT: i64 = 0;

/// Adds the requests in a body to a batch, and lets it run: each uses these betas. A batch whose
/// body is not valid or not complete is deleted.
pub(super) async fn receive(
    app: &App,
    batch: BatchRecord,
    betas: Option<&str>,
    body: Body,
) -> Result<BatchRecord, HttpError> {
    let mut incomplete = IncompleteBatch {
        store: app.store().clone(),
        batch: Some(batch.clone()),
    };
    let digest = match read_requests(app, &batch, BatchBody::new(app, body)).await {
        Ok(digest) => digest,
        Err(error) => {
            // Before the client is answered: until then it counts as one of the tenant's.
            app.store().discard_batch(&batch.tenant, &batch.id).await?;
            incomplete.batch = None;
            return Err(error);
        }
    };
    let metadata = anthropic::request_metadata(&digest, betas);
    app.store()
        .set_received_metadata(&batch.tenant, &batch.id, &metadata)
        .await?;
    let started = app
        .store()
        .start_batch(&batch.tenant, &batch.id, ATTEMPT)
        .await?;
    let started = started.ok_or_else(lost_error)?;
    incomplete.batch = None;
    Ok(started)
}

/// The batch that an earlier request with the same idempotency key has created, if that had the
/// same body.
pub(super) async fn attach(
    app: &App,
    batch: BatchRecord,
    body: Body,
) -> Result<BatchRecord, HttpError> {
    let Some(digest) = anthropic::request_digest(&batch) else {
        // A server of an earlier release has created it.
        return Ok(batch);
    };
    let mut body = BatchBody::new(app, body);
    while body.next().await?.is_some() {}
    match body.digest() == digest {
        true => Ok(batch),
        false => Err(reused_error(&batch.id)),
    }
}

/// Adds the requests in a body to a batch. Returns the digest of the body.
async fn read_requests(
    app: &App,
    batch: &BatchRecord,
    mut body: BatchBody,
) -> Result<String, HttpError> {
    let settings = app.settings();
    let limits = settings.batches;
    let mut reservation = app.body_budget().reserve(&batch.tenant);
    let mut reserved = 0;
    let mut scanner = RequestsScanner::new(settings.request_bytes);
    let mut writer = ItemWriter::new(app.store(), batch, ATTEMPT, limits.tenant_limits());
    let mut requests = 0_u32;
    let mut found: Vec<Bytes> = Vec::new();
    while let Some(chunk) = body.next().await? {
        scanner.feed(&chunk, &mut found).map_err(scan_error)?;
        if scanner.buffered() > reserved {
            reservation.grow(scanner.buffered() - reserved).await?;
            reserved = scanner.buffered();
        }
        for json in found.drain(..) {
            if requests >= limits.max_requests {
                return Err(too_many_error(limits.max_requests));
            }
            let item = parse_message_request(i64::from(requests), &json);
            let item = item.map_err(|problem| request_error(i64::from(requests), &problem))?;
            requests += 1;
            writer.push(item).await?.map_err(stop_error)?;
        }
    }
    scanner.finish().map_err(scan_error)?;
    writer.flush().await?.map_err(stop_error)?;
    if requests == 0 {
        let message = "requests: it must have at least one request";
        return Err(HttpError::bad_request("batch-empty", message).with_detail("param", "requests"));
    }
    Ok(body.digest())
}

/// Deletes a batch whose client has left before it was received completely.
struct IncompleteBatch {
    store: Store,
    batch: Option<BatchRecord>,
}

impl Drop for IncompleteBatch {
    fn drop(&mut self) {
        let Some(batch) = self.batch.take() else {
            return;
        };
        let store = self.store.clone();
        // Without a runtime, it is deleted when it has become old.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let discarded = store.discard_batch(&batch.tenant, &batch.id).await;
                if let Err(error) = discarded {
                    tracing::warn!(batch = batch.id, %error, "a batch was not discarded");
                }
            });
        }
    }
}

fn request_error(index: i64, problem: &ItemProblem) -> HttpError {
    let mut place = format!("requests.{index}");
    if !problem.field.is_empty() {
        place = format!("{place}.{}", problem.field);
    }
    let message = format!("{place}: {}", problem.message);
    HttpError::bad_request("batch-request-invalid", message).with_detail("param", place)
}

fn stop_error(stop: WriteStop) -> HttpError {
    match stop {
        WriteStop::Lost => lost_error(),
        WriteStop::Duplicates(found) => match found.first() {
            Some(item) => request_error(item.seq, &ItemProblem::duplicate(&item.custom_id)),
            None => lost_error(),
        },
    }
}

fn scan_error(error: ScanError) -> HttpError {
    match error {
        ScanError::Malformed { at, expected } => {
            let message = format!("the body is not valid at byte {at}: expected {expected}");
            HttpError::bad_request("json-invalid", message)
        }
        ScanError::Repeated => {
            let message = "requests: it occurs more than once in the body";
            HttpError::bad_request("json-invalid", message).with_detail("param", "requests")
        }
        ScanError::TooLarge { index, max_bytes } => {
            let index = i64::try_from(index).unwrap_or(i64::MAX);
            request_error(index, &ItemProblem::too_large(max_bytes))
        }
    }
}

fn lost_error() -> HttpError {
    let message = "the batch was deleted while it was received; send it again";
    HttpError::new(StatusCode::CONFLICT, "batch-lost", message)
}

fn too_many_error(limit: u32) -> HttpError {
    let message = format!("requests: more than {limit} requests; use several batches");
    HttpError::bad_request("batch-too-many-requests", message).with_detail("param", "requests")
}
