//! Batches and results in Anthropic's format.

use prowess_store::{BatchItemState, BatchRecord, BatchResult, BatchState};
use serde_json::{Value, json};

use crate::render::rfc3339;

/// A batch.
pub(crate) fn batch(batch: &BatchRecord) -> Value {
    let status = match batch.state {
        BatchState::Cancelling => "canceling",
        state if state.is_terminal() => "ended",
        _ => "in_progress",
    };
    let has_ended = batch.ended_at.is_some();
    json!({
        "id": batch.id,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": {
            "processing": batch.counts.processing(),
            "succeeded": batch.counts.succeeded,
            "errored": batch.counts.errored,
            "canceled": batch.counts.cancelled,
            "expired": batch.counts.expired,
        },
        "ended_at": batch.ended_at.map(rfc3339),
        "created_at": rfc3339(batch.created_at),
        "expires_at": rfc3339(batch.expires_at),
        "archived_at": null,
        "cancel_initiated_at": batch.cancel_requested_at.map(rfc3339),
        // Relative to the client's base URL: a server behind a proxy does not know its own.
        "results_url": has_ended.then(|| format!("/v1/messages/batches/{}/results", batch.id)),
    })
}

/// What a Message Batch has as its metadata: the digest and the betas of the request that created
/// it. In this API, clients give a batch no metadata.
pub(crate) fn request_metadata(digest: &str, betas: Option<&str>) -> String {
    json!({ "request_digest": digest, "betas": betas }).to_string()
}

/// The betas that the requests of a batch use, from its metadata.
pub(crate) fn request_betas(metadata: &str) -> Option<String> {
    let metadata: Value = serde_json::from_str(metadata).ok()?;
    metadata.get("betas")?.as_str().map(str::to_owned)
}

/// The digest of the request that created a batch, if the batch has it.
pub(crate) fn request_digest(batch: &BatchRecord) -> Option<String> {
    let metadata: Value = serde_json::from_str(&batch.metadata).ok()?;
    metadata.get("request_digest")?.as_str().map(str::to_owned)
}

/// A line of the results, without its end.
pub(crate) fn result_line(result: &BatchResult) -> String {
    let custom_id = Value::from(result.custom_id.as_str());
    // The body is JSON already, and may be large.
    let outcome = match (&result.body, result.state) {
        (Some(message), BatchItemState::Succeeded) => {
            format!("{{\"type\":\"succeeded\",\"message\":{message}}}")
        }
        (Some(error), BatchItemState::Errored) => {
            format!("{{\"type\":\"errored\",\"error\":{error}}}")
        }
        (_, BatchItemState::Expired) => "{\"type\":\"expired\"}".to_owned(),
        _ => "{\"type\":\"canceled\"}".to_owned(),
    };
    format!("{{\"custom_id\":{custom_id},\"result\":{outcome}}}")
}
