//! The idempotency key of a request that creates a batch.

use axum::http::{HeaderMap, StatusCode};

use crate::error::HttpError;
use crate::kept_runs::keep::read_key;

/// The client's name for the request, if it has one.
///
/// # Errors
/// When it is not valid.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, HttpError> {
    headers.get("idempotency-key").map(read_key).transpose()
}

/// The key was used for another request.
pub(crate) fn reused_error(batch: &str) -> HttpError {
    let message = "this `Idempotency-Key` was sent with another request; use another key, or \
                   send the same request";
    let error = HttpError::new(StatusCode::CONFLICT, "idempotency-key-reused", message);
    error.with_detail("batch", batch).without_retry()
}
