//! An error in each vendor's envelope.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::ApiError;
use crate::dialect::Dialect;

const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The response that tells a client of an error.
pub(crate) fn render(error: &ApiError, dialect: Dialect, request_id: &str) -> Response {
    let body = match dialect {
        Dialect::Anthropic(_) => anthropic(error, request_id),
        Dialect::OpenAi => openai(error),
    };
    let mut response = (error.status, Json(body)).into_response();
    // Clients repeat conflicts and server errors unless told otherwise.
    if let Some(retry) = error.retry {
        let value = HeaderValue::from_static(if retry { "true" } else { "false" });
        response.headers_mut().insert(SHOULD_RETRY, value);
    }
    response
}

fn anthropic(error: &ApiError, request_id: &str) -> Value {
    let kind = match error.status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::CONFLICT => "conflict_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        StatusCode::GATEWAY_TIMEOUT => "timeout_error",
        status if status.is_server_error() => "api_error",
        _ => "invalid_request_error",
    };
    let mut details = json!({ "error_code": error.code });
    if let Some(map) = details.as_object_mut() {
        map.extend((*error.details).clone());
    }
    json!({
        "type": "error",
        "request_id": request_id,
        "error": { "type": kind, "message": error.message, "details": details },
    })
}

fn openai(error: &ApiError) -> Value {
    let kind = match error.status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    };
    let mut body = json!({
        "message": error.message,
        "type": kind,
        "param": error.details.get("param"),
        "code": error.code,
    });
    if let (Some(map), false) = (body.as_object_mut(), error.details.is_empty()) {
        map.insert(
            "details".to_owned(),
            Value::Object((*error.details).clone()),
        );
    }
    json!({ "error": body })
}
