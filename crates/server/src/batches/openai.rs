//! Batches in OpenAI's format, and the lines of their files.

use prowess_store::{BatchItemState, BatchRecord, BatchResult, BatchState, Timestamp};
use serde_json::{Value, json};

/// Endpoints that a batch can be for, with the dialects of their requests.
pub(crate) const ENDPOINTS: [(&str, &str); 2] = [
    ("/v1/chat/completions", "chat"),
    ("/v1/responses", "responses"),
];
/// The only value of `completion_window`.
pub(crate) const COMPLETION_WINDOW: &str = "24h";

/// The endpoint of requests in a dialect.
pub(crate) fn endpoint(dialect: &str) -> &'static str {
    let mut all = ENDPOINTS.into_iter();
    let found = all.find(|(_, own)| *own == dialect);
    found.map_or("", |(endpoint, _)| endpoint)
}

/// A batch.
pub(crate) fn batch(batch: &BatchRecord) -> Value {
    let metadata: Value = serde_json::from_str(&batch.metadata).unwrap_or_default();
    let errors: Option<Value> = batch
        .errors
        .as_deref()
        .and_then(|errors| serde_json::from_str(errors).ok());
    let ended_as = |state: BatchState| seconds(batch.ended_at.filter(|_| batch.state == state));
    json!({
        "id": batch.id,
        "object": "batch",
        "endpoint": endpoint(&batch.dialect),
        "errors": errors.map(|errors| json!({"object": "list", "data": errors})),
        "input_file_id": batch.input_file,
        "completion_window": COMPLETION_WINDOW,
        "status": status(batch),
        "output_file_id": batch.output_file,
        "error_file_id": batch.error_file,
        "created_at": batch.created_at.as_seconds(),
        "in_progress_at": seconds(batch.started_at),
        "expires_at": batch.expires_at.as_seconds(),
        "finalizing_at": seconds(batch.finalizing_at),
        "completed_at": ended_as(BatchState::Completed),
        "failed_at": ended_as(BatchState::Failed),
        "expired_at": ended_as(BatchState::Expired),
        "cancelling_at": seconds(batch.cancel_requested_at),
        "cancelled_at": ended_as(BatchState::Cancelled),
        "request_counts": {
            "total": batch.counts.total,
            "completed": batch.counts.succeeded,
            "failed": failed_requests(batch),
        },
        "metadata": metadata,
    })
}

/// Requests of a batch that are listed in its file of errors.
pub(super) fn failed_requests(batch: &BatchRecord) -> i64 {
    batch.counts.errored + batch.counts.cancelled + batch.counts.expired
}

fn status(batch: &BatchRecord) -> &'static str {
    match batch.state {
        BatchState::Receiving => BatchState::Validating.as_str(),
        // Its files are written, but it is not going to be completed.
        BatchState::Finalizing if batch.cancel_requested_at.is_some() => {
            BatchState::Cancelling.as_str()
        }
        state => state.as_str(),
    }
}

fn seconds(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_seconds)
}

/// A line of the file of responses or errors, without its end.
pub(super) fn result_line(batch: &str, result: &BatchResult) -> String {
    let id = format!(
        "batch_req_{}_{}",
        batch.trim_start_matches("batch_"),
        result.seq
    );
    let (id, custom_id) = (Value::from(id), Value::from(result.custom_id.as_str()));
    let (response, error) = match (&result.body, result.state) {
        (Some(body), _) => {
            let request = Value::from(result.run.as_deref());
            let status = result.status.unwrap_or_default();
            // The body is JSON already, and may be large.
            let response =
                format!("{{\"status_code\":{status},\"request_id\":{request},\"body\":{body}}}");
            (response, Value::Null)
        }
        (None, BatchItemState::Expired) => {
            let message = "the request was not run before the batch expired";
            let error = json!({"code": "batch_expired", "message": message});
            ("null".to_owned(), error)
        }
        (None, _) => {
            let message = "the request was cancelled with the batch";
            let error = json!({"code": "batch_cancelled", "message": message});
            ("null".to_owned(), error)
        }
    };
    format!("{{\"id\":{id},\"custom_id\":{custom_id},\"response\":{response},\"error\":{error}}}")
}
