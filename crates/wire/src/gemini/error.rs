//! Google's error bodies, both ways.

use serde_json::{Value, json};

use crate::neutral::{ApiError, ErrorKind, Map};
use crate::rendered_error::RenderedError;

/// The error of a response: an envelope, or a list of one.
pub(crate) fn read_error(status: u16, body: &[u8]) -> Option<ApiError> {
    let value: Value = serde_json::from_slice(body).ok()?;
    Some(read_error_value(
        Some(status),
        envelope(&value).get("error")?,
    ))
}

/// Whether a body is an error in Google's form.
pub(crate) fn is_error(body: &Value) -> bool {
    let message = envelope(body).get("error").and_then(|e| e.get("message"));
    message.is_some_and(Value::is_string)
}

fn envelope(body: &Value) -> &Value {
    body.get(0).unwrap_or(body)
}

/// The inner error object; in a stream its own code is the status.
pub(super) fn read_error_value(status: Option<u16>, error: &Value) -> ApiError {
    let word = error.get("status").and_then(Value::as_str);
    let code = error.get("code").and_then(Value::as_u64);
    let status = status
        .or_else(|| u16::try_from(code?).ok())
        .filter(|status| (400..600).contains(status));
    let kind = word
        .and_then(kind_of)
        .unwrap_or_else(|| ErrorKind::from_status(status.unwrap_or(500)));
    // Some servers send nothing but a text.
    let message = error.get("message").unwrap_or(error).as_str();
    ApiError {
        status: status.unwrap_or(kind.status()),
        code: word.map(str::to_owned),
        details: error
            .get("details")
            .map(|details| Box::new(serde_json::json!({"google": details}))),
        ..ApiError::new(
            kind,
            message.unwrap_or("the upstream gave no error message"),
        )
    }
}

fn kind_of(word: &str) -> Option<ErrorKind> {
    match word {
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" | "OUT_OF_RANGE" => {
            Some(ErrorKind::InvalidRequest)
        }
        "UNAUTHENTICATED" => Some(ErrorKind::Authentication),
        "PERMISSION_DENIED" => Some(ErrorKind::Permission),
        "NOT_FOUND" => Some(ErrorKind::NotFound),
        "ALREADY_EXISTS" | "ABORTED" => Some(ErrorKind::Conflict),
        "RESOURCE_EXHAUSTED" => Some(ErrorKind::RateLimit),
        "DEADLINE_EXCEEDED" => Some(ErrorKind::Timeout),
        "UNAVAILABLE" => Some(ErrorKind::Overloaded),
        "INTERNAL" | "UNKNOWN" => Some(ErrorKind::Api),
        _ => None,
    }
}

/// An error in Google's form.
pub(crate) fn render_error(error: &ApiError) -> RenderedError {
    // Google has no separate status for an overloaded server.
    let status = match error.status {
        529 => 503,
        status => status,
    };
    let mut inner = Map::new();
    inner.insert("code".to_owned(), status.into());
    inner.insert("message".to_owned(), error.message.as_str().into());
    inner.insert("status".to_owned(), word_of(error.kind, status).into());
    let word = word_of(error.kind, status);
    inner.insert("details".to_owned(), details(error, word).into());
    let body = json!({"error": inner});
    RenderedError::new(error, status, body, "x-request-id")
}

fn word_of(kind: ErrorKind, status: u16) -> &'static str {
    match (kind, status) {
        (_, 501) => "UNIMPLEMENTED",
        (ErrorKind::Api, 502 | 503) | (ErrorKind::Overloaded, _) => "UNAVAILABLE",
        (ErrorKind::InvalidRequest | ErrorKind::TooLarge, _) => "INVALID_ARGUMENT",
        (ErrorKind::Authentication, _) => "UNAUTHENTICATED",
        (ErrorKind::Billing, _) => "FAILED_PRECONDITION",
        (ErrorKind::Permission, _) => "PERMISSION_DENIED",
        (ErrorKind::NotFound, _) => "NOT_FOUND",
        (ErrorKind::Conflict, _) => "ABORTED",
        (ErrorKind::RateLimit, _) => "RESOURCE_EXHAUSTED",
        (ErrorKind::Timeout, _) => "DEADLINE_EXCEEDED",
        (ErrorKind::Api, _) => "INTERNAL",
    }
}

/// Machine-readable details in Google's forms: those of the upstream, and one of this
/// server.
fn details(error: &ApiError, word: &str) -> Vec<Value> {
    let mut metadata = Map::new();
    let mut given = Vec::new();
    match error.details.as_deref() {
        Some(Value::Object(map)) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("google", Value::Array(details)) => given.clone_from(details),
                    (_, Value::String(_)) => drop(metadata.insert(key.clone(), value.clone())),
                    // All values are text there.
                    _ => drop(metadata.insert(key.clone(), value.to_string().into())),
                }
            }
        }
        Some(other) => drop(metadata.insert("info".to_owned(), other.to_string().into())),
        None => {}
    }
    for (key, value) in [("param", &error.param), ("requestId", &error.request_id)] {
        if let Some(value) = value {
            metadata.insert(key.to_owned(), value.as_str().into());
        }
    }
    if error.code.is_some() || !metadata.is_empty() {
        given.push(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": error.code.as_deref().unwrap_or(word),
            "domain": "prowess",
            "metadata": metadata,
        }));
    }
    given
}
