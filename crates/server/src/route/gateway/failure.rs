//! Why a model was not called or gave no answer, as the client is told of it.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use prowess_engine::RunError;
use prowess_provider::{CallError, RouteError};
use prowess_wire::neutral::ApiError as NeutralError;
use prowess_wire::{Client, WireError};

use crate::context::RequestId;
use crate::error::ApiError;
use crate::limits::Refusal;

/// A failure on the road to a model.
pub(in crate::route) enum Failure {
    /// Of the server itself, told like all its errors.
    Server(ApiError),
    /// Of the call, told in the words of the model's own dialect.
    Call(Box<CallError>),
    /// Of a run, told likewise.
    Run(Box<RunError>),
    /// Of the key, told in the same words.
    Refused(Box<Refusal>),
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Failure::Server(error)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Failure::Call(Box::new(error))
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        CallError::from(error).into()
    }
}

impl From<RouteError> for Failure {
    fn from(error: RouteError) -> Self {
        CallError::from(error).into()
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Failure::Run(Box::new(error))
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Failure::Refused(Box::new(refusal))
    }
}

impl Failure {
    /// The same, with another path for the field of the request that is at fault.
    pub(super) fn renamed(mut self, rename: impl FnOnce(&str) -> String) -> Self {
        let call = match &mut self {
            Failure::Call(error) => Some(&mut **error),
            Failure::Run(error) => match &mut **error {
                RunError::Call(error) => Some(error),
                _ => None,
            },
            Failure::Server(_) | Failure::Refused(_) => None,
        };
        if let Some(CallError::Request(error)) = call {
            *error = error.clone().renamed(rename);
        }
        self
    }

    /// The status it is told with, before any dialect changes it, and its code.
    pub(super) fn outline(&self) -> (u16, String) {
        match self {
            Failure::Server(error) => (error.status.as_u16(), error.code.to_owned()),
            Failure::Call(error) => (error.to_api_error().status, error.code().to_owned()),
            Failure::Run(error) => {
                let error = error.to_api_error();
                (error.status, error.code.unwrap_or_default())
            }
            Failure::Refused(refusal) => {
                let error = &refusal.error;
                (error.status, error.code.clone().unwrap_or_default())
            }
        }
    }

    /// The answer that tells a client of it.
    pub(in crate::route) fn tell(
        self,
        client: Client,
        id: RequestId,
    ) -> Result<Response, ApiError> {
        match self {
            Failure::Server(error) => Err(error),
            Failure::Call(failed) => {
                tracing::debug!(code = failed.code(), error = %failed, "the call failed");
                let mut response = told(client, failed.to_api_error(), id);
                set_retry_after(response.headers_mut(), failed.retry_after());
                Ok(response)
            }
            Failure::Run(failed) => {
                tracing::debug!(error = %failed, "the run failed");
                let mut response = told(client, failed.to_api_error(), id);
                set_retry_after(response.headers_mut(), failed.retry_after());
                Ok(response)
            }
            Failure::Refused(refusal) => {
                tracing::debug!(error = %refusal.error, "refused");
                let mut response = told(client, *refusal.error, id);
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

fn told(client: Client, mut error: NeutralError, id: RequestId) -> Response {
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
    response
}

fn set_retry_after(headers: &mut HeaderMap, after: Option<Duration>) {
    let seconds = after.map(|after| after.as_millis().div_ceil(1_000).to_string());
    let value = seconds.and_then(|seconds| HeaderValue::from_str(&seconds).ok());
    if let Some(value) = value {
        headers.insert("retry-after", value);
    }
}
