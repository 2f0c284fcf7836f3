//! Google's error bodies, read.

use serde_json::Value;

use crate::neutral::{ApiError, ErrorKind};

/// The error of an answer: an envelope, or a list of one.
pub(crate) fn read_error(status: u16, body: &[u8]) -> Option<ApiError> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let envelope = value.get(0).unwrap_or(&value);
    Some(read_error_value(Some(status), envelope.get("error")?))
}

/// The inner error object; in a stream its own code tells the status.
pub(super) fn read_error_value(status: Option<u16>, error: &Value) -> ApiError {
    let word = error.get("status").and_then(Value::as_str);
    let code = error.get("code").and_then(Value::as_u64);
    let status = status
        .or_else(|| u16::try_from(code?).ok())
        .filter(|status| (400..600).contains(status));
    let kind = word
        .and_then(kind_of)
        .unwrap_or_else(|| ErrorKind::of_status(status.unwrap_or(500)));
    let message = error.get("message").and_then(Value::as_str);
    ApiError {
        status: status.unwrap_or(kind.status()),
        code: word.map(str::to_owned),
        details: error
            .get("details")
            .map(|details| Box::new(serde_json::json!({"google": details}))),
        ..ApiError::new(kind, message.unwrap_or("the upstream gave no reason"))
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
