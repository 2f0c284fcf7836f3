//! Anthropic's error bodies, both ways.

use serde_json::{Value, json};

use crate::fields::put;
use crate::neutral::{ApiError, ErrorKind, Map};
use crate::rendered_error::RenderedError;

/// The error of an Anthropic upstream's response.
pub(crate) fn read_error(status: u16, body: &[u8]) -> Option<ApiError> {
    let value: Value = serde_json::from_slice(body).ok()?;
    value.get("error")?;
    Some(read_error_value(Some(status), value))
}

/// Whether a body is an error in Anthropic's form.
pub(crate) fn is_error(body: &Value) -> bool {
    let text = |key: &str| body.get("error").and_then(|error| error.get(key)?.as_str());
    let marked = body.get("type").and_then(Value::as_str) == Some("error");
    marked && text("type").is_some() && text("message").is_some()
}

/// The error in an envelope; in a stream there is no status to go by.
pub(crate) fn read_error_value(status: Option<u16>, envelope: Value) -> ApiError {
    let error = envelope.get("error").unwrap_or(&Value::Null);
    let word = error
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let kind = kind_of(word).unwrap_or_else(|| ErrorKind::from_status(status.unwrap_or(500)));
    // Some servers send nothing but a text.
    let message = error.get("message").unwrap_or(error).as_str();
    let details = error.get("details").filter(|details| details.is_object());
    ApiError {
        status: status.unwrap_or(kind.status()),
        kind,
        message: message
            .unwrap_or("the upstream gave no error message")
            .to_owned(),
        code: details
            .and_then(|details| details.get("error_code"))
            .and_then(Value::as_str)
            .map(str::to_owned),
        param: None,
        details: details.cloned().map(Box::new),
        request_id: envelope
            .get("request_id")
            .and_then(Value::as_str)
            .map(str::to_owned),
    }
}

pub(crate) fn render_error(error: &ApiError) -> RenderedError {
    let mut inner = Map::new();
    inner.insert("type".to_owned(), word_of(error.kind).into());
    inner.insert("message".to_owned(), error.message.as_str().into());
    put(&mut inner, "details", details(error));
    let mut body = Map::from_iter([("type".to_owned(), "error".into())]);
    put(&mut body, "request_id", error.request_id.clone());
    body.insert("error".to_owned(), Value::Object(inner));
    RenderedError::new(error, error.status, Value::Object(body), "request-id")
}

fn details(error: &ApiError) -> Option<Value> {
    let code = error.code.as_ref();
    let mut details: Map = code
        .map(|code| ("error_code".to_owned(), json!(code)))
        .into_iter()
        .collect();
    match error.details.as_deref() {
        Some(Value::Object(map)) => details.extend(map.clone()),
        Some(other) => drop(details.insert("info".to_owned(), other.clone())),
        None => {}
    }
    if let Some(param) = &error.param {
        details.insert("param".to_owned(), json!(param));
    }
    (!details.is_empty()).then_some(Value::Object(details))
}

const ERROR_TYPES: [(ErrorKind, &str); 11] = [
    (ErrorKind::InvalidRequest, "invalid_request_error"),
    (ErrorKind::Authentication, "authentication_error"),
    (ErrorKind::Billing, "billing_error"),
    (ErrorKind::Permission, "permission_error"),
    (ErrorKind::NotFound, "not_found_error"),
    (ErrorKind::Conflict, "conflict_error"),
    (ErrorKind::TooLarge, "request_too_large"),
    (ErrorKind::RateLimit, "rate_limit_error"),
    (ErrorKind::Timeout, "timeout_error"),
    (ErrorKind::Api, "api_error"),
    (ErrorKind::Overloaded, "overloaded_error"),
];

fn word_of(kind: ErrorKind) -> &'static str {
    ERROR_TYPES
        .iter()
        .find(|(known, _)| *known == kind)
        .map_or("api_error", |(_, word)| word)
}

fn kind_of(word: &str) -> Option<ErrorKind> {
    ERROR_TYPES
        .iter()
        .find(|(_, known)| *known == word)
        .map(|(kind, _)| *kind)
}
