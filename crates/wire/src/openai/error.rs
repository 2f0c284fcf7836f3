//! OpenAI's error bodies, both ways.

use serde_json::{Value, json};

use crate::neutral::{ApiError, ErrorKind};
use crate::rendered_error::RenderedError;

/// The error of an OpenAI-like upstream's response.
pub(crate) fn read_error(status: u16, body: &[u8]) -> Option<ApiError> {
    let value: Value = serde_json::from_slice(body).ok()?;
    // Compatible servers also send {"error": "text"}, {"message": …} and {"detail": …}.
    let error = ["error", "message", "detail"]
        .into_iter()
        .find_map(|key| value.get(key).filter(|found| !found.is_null()));
    match error? {
        Value::Object(_) if value.get("error").is_some() => {
            Some(read_error_value(Some(status), value.get("error")?))
        }
        Value::String(text) => Some(ApiError {
            status,
            ..ApiError::new(ErrorKind::from_status(status), text.clone())
        }),
        other => Some(ApiError {
            status,
            ..ApiError::new(ErrorKind::from_status(status), other.to_string())
        }),
    }
}

/// Whether a body is an error in OpenAI's form.
pub(crate) fn is_error(body: &Value) -> bool {
    let message = body.get("error").and_then(|error| error.get("message"));
    message.is_some_and(Value::is_string)
}

/// The inner error object; in a stream there is no status to go by.
pub(crate) fn read_error_value(status: Option<u16>, error: &Value) -> ApiError {
    let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
    // Some servers write the status as the code, as a number.
    let numeric = error
        .get("code")
        .and_then(Value::as_u64)
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..600).contains(code));
    let kind = kind_of(text("type").as_deref(), text("code").as_deref());
    let kind = kind.unwrap_or_else(|| ErrorKind::from_status(status.or(numeric).unwrap_or(500)));
    ApiError {
        status: status.or(numeric).unwrap_or(kind.status()),
        kind,
        message: text("message").unwrap_or_else(|| match error {
            Value::String(text) => text.clone(),
            _ => "the upstream gave no error message".to_owned(),
        }),
        code: text("code"),
        param: text("param"),
        details: None,
        request_id: None,
    }
}

fn kind_of(word: Option<&str>, code: Option<&str>) -> Option<ErrorKind> {
    match (word?, code) {
        (_, Some("insufficient_quota")) => Some(ErrorKind::Billing),
        (_, Some("rate_limit_exceeded")) => Some(ErrorKind::RateLimit),
        (_, Some("model_not_found")) => Some(ErrorKind::NotFound),
        ("authentication_error", _) => Some(ErrorKind::Authentication),
        ("permission_error" | "insufficient_permissions", _) => Some(ErrorKind::Permission),
        ("insufficient_quota", _) => Some(ErrorKind::Billing),
        ("rate_limit_error" | "tokens" | "requests", _) => Some(ErrorKind::RateLimit),
        ("overloaded_error", _) => Some(ErrorKind::Overloaded),
        ("timeout" | "timeout_error", _) => Some(ErrorKind::Timeout),
        _ => None,
    }
}

pub(crate) fn render_error(error: &ApiError) -> RenderedError {
    let mut inner = json!({
        "message": error.message,
        "type": word_of(error.kind),
        "param": error.param,
        "code": error.code,
    });
    if let (Some(details), Some(map)) = (&error.details, inner.as_object_mut()) {
        map.insert("details".to_owned(), Value::clone(details));
    }
    // 529 is Anthropic's alone.
    let status = if error.status == 529 {
        503
    } else {
        error.status
    };
    let body = json!({"error": inner});
    RenderedError::new(error, status, body, "x-request-id")
}

fn word_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidRequest
        | ErrorKind::NotFound
        | ErrorKind::Conflict
        | ErrorKind::TooLarge => "invalid_request_error",
        ErrorKind::Authentication => "authentication_error",
        ErrorKind::Billing => "insufficient_quota",
        ErrorKind::Permission => "permission_error",
        ErrorKind::RateLimit => "rate_limit_error",
        ErrorKind::Timeout => "timeout_error",
        ErrorKind::Api => "server_error",
        ErrorKind::Overloaded => "overloaded_error",
    }
}
