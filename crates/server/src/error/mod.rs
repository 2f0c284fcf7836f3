//! What went wrong with a request.
//!
//! Handlers return an [`ApiError`]; it knows no dialect. On its way out the
//! response carries it to [`context`](crate::context), which has it rendered.

mod from;
mod render;

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

pub(crate) use from::invalid_skill;
pub(crate) use render::render;

/// The detail that is also sent as the header of its name.
const RETRY_AFTER_DETAIL: &str = "retry_after";

/// When it is worth trying again after the store could not be reached.
const UNAVAILABLE_RETRY_SECONDS: u64 = 2;

/// Why a request failed.
#[derive(Debug, Clone)]
pub(crate) struct HttpError {
    pub(crate) status: StatusCode,
    /// Stable identifier of the reason.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// More for programs: diagnostics, the file at fault.
    pub(crate) details: Box<Map<String, Value>>,
    /// Whether sending the same again may help, when the status does not say.
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

    /// A failure of ours. What exactly failed goes to the log, not to the client.
    pub(crate) fn internal(code: &'static str, what: &dyn std::fmt::Display) -> Self {
        tracing::error!(code, error = %what, "request failed");
        let message = "the server failed; its log says why, under this request's id";
        let mut error = HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, code, message);
        error.retry = Some(false);
        error
    }

    /// A failure that may pass by itself.
    pub(crate) fn unavailable(code: &'static str, what: &dyn std::fmt::Display) -> Self {
        tracing::warn!(code, error = %what, "not available");
        let message = "the store cannot be reached right now; try again";
        let error = HttpError::new(StatusCode::SERVICE_UNAVAILABLE, code, message);
        error.retry_after(UNAVAILABLE_RETRY_SECONDS)
    }

    /// There is no room left. The same will not help until somebody makes some.
    pub(crate) fn storage_full(code: &'static str, what: &dyn std::fmt::Display) -> Self {
        tracing::error!(code, error = %what, "no room left");
        let message = "the server's disk is full; delete something or ask the operator";
        HttpError::new(StatusCode::INSUFFICIENT_STORAGE, code, message).without_retry()
    }

    /// Adds something for programs.
    pub(crate) fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Says when it is worth sending the same again.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        self.with_detail(RETRY_AFTER_DETAIL, seconds)
    }

    /// Says that sending the same again cannot help.
    pub(crate) fn without_retry(mut self) -> Self {
        self.retry = Some(false);
        self
    }
}

/// A response without a body yet, which carries the error to where the dialect is
/// known.
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
