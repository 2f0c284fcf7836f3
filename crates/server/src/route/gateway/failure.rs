//! Why a model was not called or gave no answer, as the client is told of it.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use prowess_engine::RunError;
use prowess_provider::{CallError, RouteError};
use prowess_wire::neutral::ApiError as Told;
use prowess_wire::{Client, WireError};

use crate::context::RequestId;
use crate::error::ApiError;

/// A failure on the road to a model.
pub(super) enum Failure {
    /// Of the server itself, told like all its errors.
    Server(ApiError),
    /// Of the call, told in the words of the model's own dialect.
    Call(CallError),
    /// Of a run, told likewise.
    Run(RunError),
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Failure::Run(error)
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Failure::Server(error)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Failure::Call(error)
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Failure::Call(error.into())
    }
}

impl From<RouteError> for Failure {
    fn from(error: RouteError) -> Self {
        Failure::Call(error.into())
    }
}

impl Failure {
    /// The answer that tells a client of it.
    pub(super) fn response(self, client: Client, id: &RequestId) -> Result<Response, ApiError> {
        let (error, retry_after) = match self {
            Failure::Call(error) => (error.to_api_error(), error.retry_after()),
            Failure::Run(error) => (error.to_api_error(), error.retry_after()),
            Failure::Server(error) => return Err(error),
        };
        Ok(rendered(client, error, retry_after, id))
    }
}

fn rendered(
    client: Client,
    mut error: Told,
    retry_after: Option<Duration>,
    id: &RequestId,
) -> Response {
    tracing::debug!(code = error.code, error = %error, "the call failed");
    error.request_id.get_or_insert_with(|| id.to_string());
    let rendered = prowess_wire::render(client, &error);
    let status = StatusCode::from_u16(rendered.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = (status, Json(rendered.body)).into_response();
    let headers = response.headers_mut();
    for (name, value) in rendered.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    if let Some(after) = retry_after {
        let seconds = after.as_millis().div_ceil(1000);
        if let Ok(value) = HeaderValue::from_str(&seconds.to_string()) {
            headers.insert("retry-after", value);
        }
    }
    response
}
