//! The keys in the headers of a request that creates a batch.

use axum::http::{HeaderMap, StatusCode};

use crate::error::HttpError;
use crate::kept_runs::keep::read_key;
use crate::route::gateway::PROVIDER_KEY_HEADER;

/// Refuses a client's own key of a provider: requests of a batch are made when its client has
/// left, and keys are not stored.
///
/// # Errors
/// When there is one.
pub(crate) fn refuse_provider_key(headers: &HeaderMap) -> Result<(), HttpError> {
    if !headers.contains_key(PROVIDER_KEY_HEADER) {
        return Ok(());
    }
    let message = "a batch cannot use your own key of the provider, because keys are not stored; \
                   remove `prowess-provider-key`";
    Err(HttpError::bad_request("batch-with-provider-key", message))
}

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
