//! HTTP errors of the server itself.
//!
//! Handlers return an [`HttpError`], which is independent of the dialect. The response carries
//! it to [`context`](crate::context), which renders it.

mod from;
mod render;

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

pub(crate) use from::invalid_skill;
pub(crate) use render::{render, to_neutral};

/// This detail is also sent as a header.
const RETRY_AFTER_DETAIL: &str = "retry_after";

/// Retry delay when the store is unavailable.
const UNAVAILABLE_RETRY_SECONDS: u64 = 2;

/// Why a request failed.
#[derive(Debug, Clone)]
pub(crate) struct HttpError {
    pub(crate) status: StatusCode,
    /// Stable error code.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Details for programs: diagnostics, the file at fault.
    pub(crate) details: Box<Map<String, Value>>,
    /// Whether a retry may help, when the status does not imply it.
    pub(crate) retry: Option<bool>,
}

impl HttpError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        HttpError {
            status,
            code,
            message: message.into(),
            details: Box::default(),
            retry: None,
        }
    }

    pub(crate) fn bad_request(code: &'static str, message: impl Into<String>) -> Self {
        HttpError::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// An internal error. The cause goes to the log, not to the client.
    pub(crate) fn internal(code: &'static str, what: &dyn std::fmt::Display) -> Self {
        tracing::error!(code, error = %what, "request failed");
        let message = "internal server error; the server log has the cause under this request id";
        let mut error = HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, code, message);
        error.retry = Some(false);
        error
    }

    /// A temporary failure.
    pub(crate) fn unavailable(code: &'static str, what: &dyn std::fmt::Display) -> Self {
        tracing::warn!(code, error = %what, "store unavailable");
        let message = "the store is temporarily unavailable; try again";
        let error = HttpError::new(StatusCode::SERVICE_UNAVAILABLE, code, message);
        error.retry_after(UNAVAILABLE_RETRY_SECONDS)
    }

    /// The disk is full. A retry does not help until space is freed.
    pub(crate) fn storage_full(code: &'static str, what: &dyn std::fmt::Display) -> Self {
        tracing::error!(code, error = %what, "storage is full");
        let message = "the server's disk is full; delete something or ask the operator";
        HttpError::new(StatusCode::INSUFFICIENT_STORAGE, code, message).without_retry()
    }

    /// Adds a detail.
    pub(crate) fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Sets the retry delay.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        self.with_detail(RETRY_AFTER_DETAIL, seconds)
    }

    /// Marks the error as permanent.
    pub(crate) fn without_retry(mut self) -> Self {
        self.retry = Some(false);
        self
    }
}

/// A response without a body, which carries the error to where the dialect is known.
impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        let wait = self.details.get(RETRY_AFTER_DETAIL);
        if let Some(seconds) = wait.and_then(Value::as_u64) {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(self);
        response
    }
}
