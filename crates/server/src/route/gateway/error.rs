//! Errors of calls to models, as sent to the client.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use prowess_engine::RunError;
use prowess_provider::{CallError, RouteError};
use prowess_wire::neutral::ApiError as NeutralError;
use prowess_wire::{ClientDialect, WireError};

use crate::error::HttpError;
use crate::limits::RequestRefusal;
use crate::request_id::RequestId;

/// Why a call to a model failed.
pub(in crate::route) enum GatewayError {
    /// An error of the server, rendered like all its errors.
    Server(HttpError),
    /// An error of the call, rendered in the client's dialect.
    Call(Box<CallError>),
    /// An error of a run, rendered likewise.
    Run(Box<RunError>),
    /// Refused by the key's limits, rendered likewise.
    Refused(Box<RequestRefusal>),
}

impl From<HttpError> for GatewayError {
    fn from(error: HttpError) -> Self {
        GatewayError::Server(error)
    }
}

impl From<CallError> for GatewayError {
    fn from(error: CallError) -> Self {
        GatewayError::Call(Box::new(error))
    }
}

impl From<WireError> for GatewayError {
    fn from(error: WireError) -> Self {
        CallError::from(error).into()
    }
}

impl From<RouteError> for GatewayError {
    fn from(error: RouteError) -> Self {
        CallError::from(error).into()
    }
}

impl From<RunError> for GatewayError {
    fn from(error: RunError) -> Self {
        GatewayError::Run(Box::new(error))
    }
}

impl From<RequestRefusal> for GatewayError {
    fn from(refusal: RequestRefusal) -> Self {
        GatewayError::Refused(Box::new(refusal))
    }
}

impl GatewayError {
    /// Maps the path of the field at fault.
    pub(super) fn map_field(mut self, rename: impl FnOnce(&str) -> String) -> Self {
        let call = match &mut self {
            GatewayError::Call(error) => Some(&mut **error),
            GatewayError::Run(error) => match &mut **error {
                RunError::Call(error) => Some(error),
                _ => None,
            },
            GatewayError::Server(_) | GatewayError::Refused(_) => None,
        };
        if let Some(CallError::Request(error)) = call {
            *error = error.clone().with_field(rename);
        }
        self
    }

    /// The status, before any dialect changes it, and the error code.
    pub(super) fn status_and_code(&self) -> (u16, String) {
        match self {
            GatewayError::Server(error) => (error.status.as_u16(), error.code.to_owned()),
            GatewayError::Call(error) => (error.to_api_error().status, error.code().to_owned()),
            GatewayError::Run(error) => {
                let error = error.to_api_error();
                (error.status, error.code.unwrap_or_default())
            }
            GatewayError::Refused(refusal) => {
                let error = &refusal.error;
                (error.status, error.code.clone().unwrap_or_default())
            }
        }
    }

    /// The error response.
    pub(in crate::route) fn render(
        self,
        client: ClientDialect,
        id: RequestId,
    ) -> Result<Response, HttpError> {
        match self {
            GatewayError::Server(error) => Err(error),
            GatewayError::Call(failed) => {
                tracing::debug!(code = failed.code(), error = %failed, "the call failed");
                let mut response = error_response(client, failed.to_api_error(), id);
                set_retry_after(response.headers_mut(), failed.retry_after());
                Ok(response)
            }
            GatewayError::Run(failed) => {
                tracing::debug!(error = %failed, "the run failed");
                let mut response = error_response(client, failed.to_api_error(), id);
                set_retry_after(response.headers_mut(), failed.retry_after());
                Ok(response)
            }
            GatewayError::Refused(refusal) => {
                tracing::debug!(error = %refusal.error, "request refused");
                let mut response = error_response(client, *refusal.error, id);
                let headers = response.headers_mut();
                set_retry_after(headers, refusal.retry_after);
                if !refusal.retry {
                    headers.insert("x-should-retry", HeaderValue::from_static("false"));
                }
                Ok(response)
            }
        }
    }
}

fn error_response(client: ClientDialect, mut error: NeutralError, id: RequestId) -> Response {
    error.request_id.get_or_insert_with(|| id.to_string());
    let rendered = prowess_wire::render_client_error(client, &error);
    let status = StatusCode::from_u16(rendered.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = (status, Json(rendered.body)).into_response();
    let headers = response.headers_mut();
    for (name, value) in rendered.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    response
}

fn set_retry_after(headers: &mut HeaderMap, after: Option<Duration>) {
    let seconds = after.map(|after| after.as_millis().div_ceil(1_000).to_string());
    let value = seconds.and_then(|seconds| HeaderValue::from_str(&seconds).ok());
    if let Some(value) = value {
        headers.insert("retry-after", value);
    }
}
