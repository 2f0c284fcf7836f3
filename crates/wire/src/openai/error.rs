//! OpenAI's error bodies, both ways.

use serde_json::{Value, json};

use crate::fields::put;
use crate::neutral::{ApiError, ErrorKind, Map};
use crate::rendered_error::RenderedError;

/// The key, in the details of an error, of what only OpenAI's errors have.
const OPENAI: &str = "openai";
/// Why a monitor has stopped the model, and how the client may go on.
const MISALIGNMENT: &str = "misalignment";

/// The error of an OpenAI-like upstream's response.
pub(crate) fn read_error(status: u16, body: &[u8]) -> Option<ApiError> {
    let value: Value = serde_json::from_slice(body).ok()?;
    // Google's endpoint for OpenAI's clients sends a list of one.
    let value = value.get(0).unwrap_or(&value);
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
    let status = status.or_else(|| status_in_code(error.get("code")?));
    let (word, code) = (text("type"), text("code"));
    let kind = specific_kind(word.as_deref(), code.as_deref())
        .or_else(|| status.map(ErrorKind::from_status))
        .unwrap_or_else(|| general_kind(word.as_deref(), code.as_deref()));
    ApiError {
        status: status.unwrap_or(kind.status()),
        kind,
        message: text("message").unwrap_or_else(|| match error {
            Value::String(text) => text.clone(),
            _ => "the upstream gave no error message".to_owned(),
        }),
        code,
        param: text("param"),
        details: own_details(error, &[MISALIGNMENT]),
        request_id: None,
    }
}

/// The error inside a failed response, which goes to other clients of Responses as it is.
pub(crate) fn read_failure(error: &Value) -> ApiError {
    ApiError {
        details: own_details(error, &["type", MISALIGNMENT]),
        ..read_error_value(None, error)
    }
}

fn own_details(error: &Value, keys: &[&str]) -> Option<Box<Value>> {
    let fields = keys.iter().filter_map(|key| {
        let value = error.get(key).filter(|value| !value.is_null())?;
        Some(((*key).to_owned(), value.clone()))
    });
    let own: Map = fields.collect();
    (!own.is_empty()).then(|| Box::new(json!({ OPENAI: own })))
}

/// Some servers write the status as the code, as a number or as its digits.
fn status_in_code(code: &Value) -> Option<u16> {
    let code = match code {
        Value::String(digits) => digits.parse().ok()?,
        code => u16::try_from(code.as_u64()?).ok()?,
    };
    (400..600).contains(&code).then_some(code)
}

/// The kind by a type or code that is more exact than any status.
fn specific_kind(word: Option<&str>, code: Option<&str>) -> Option<ErrorKind> {
    match code {
        Some("insufficient_quota") => return Some(ErrorKind::Billing),
        Some("rate_limit_exceeded") => return Some(ErrorKind::RateLimit),
        Some("model_not_found") => return Some(ErrorKind::NotFound),
        _ => {}
    }
    match word? {
        "authentication_error" => Some(ErrorKind::Authentication),
        "permission_error" | "insufficient_permissions" => Some(ErrorKind::Permission),
        "insufficient_quota" => Some(ErrorKind::Billing),
        "rate_limit_error" | "tokens" | "requests" => Some(ErrorKind::RateLimit),
        "overloaded_error" => Some(ErrorKind::Overloaded),
        "timeout" | "timeout_error" => Some(ErrorKind::Timeout),
        _ => None,
    }
}

/// The kind of an error without a status, such as one inside a stream or a failed response.
fn general_kind(word: Option<&str>, code: Option<&str>) -> ErrorKind {
    match (word, code) {
        (_, Some(code)) if REQUEST_CODES.contains(&code) => ErrorKind::InvalidRequest,
        (_, Some("invalid_api_key")) => ErrorKind::Authentication,
        (_, Some("server_is_overloaded" | "slow_down")) => ErrorKind::Overloaded,
        (Some("invalid_request_error"), _) => ErrorKind::InvalidRequest,
        (Some("not_found_error"), _) => ErrorKind::NotFound,
        _ => ErrorKind::Api,
    }
}

/// Codes of requests that would fail again.
const REQUEST_CODES: [&str; 23] = [
    "bio_policy",
    "content_filter",
    "content_policy_violation",
    "context_length_exceeded",
    "cyber_policy",
    "data_residency_mismatch",
    "empty_image_file",
    "failed_to_download_image",
    "image_content_policy_violation",
    "image_file_not_found",
    "image_file_too_large",
    "image_parse_error",
    "image_too_large",
    "image_too_small",
    "invalid_base64_image",
    "invalid_image",
    "invalid_image_format",
    "invalid_image_mode",
    "invalid_image_url",
    "invalid_prompt",
    "misalignment_policy_violation",
    "string_above_max_length",
    "unsupported_image_media_type",
];

/// Codes of failures that are not the request's.
const OTHER_FAILURE_CODES: [&str; 7] = [
    "insufficient_quota",
    "rate_limit_exceeded",
    "server_error",
    "server_is_overloaded",
    "slow_down",
    "usage_not_included",
    "vector_store_timeout",
];

/// The error inside a failed response.
pub(crate) fn write_failure(error: &ApiError) -> Value {
    let mut fields = Map::from_iter([
        ("code".to_owned(), failure_code(error).into()),
        ("message".to_owned(), error.message.as_str().into()),
    ]);
    put(&mut fields, "param", error.param.clone());
    let (own, _) = divide_details(error);
    fields.extend(own);
    Value::Object(fields)
}

/// What only OpenAI's errors have, and all other details.
fn divide_details(error: &ApiError) -> (Map, Option<Value>) {
    let Some(mut details) = error.details.as_deref().cloned() else {
        return (Map::new(), None);
    };
    let own = details
        .as_object_mut()
        .and_then(|details| details.shift_remove(OPENAI));
    let is_empty = details.as_object().is_some_and(Map::is_empty);
    match own {
        Some(Value::Object(own)) => (own, (!is_empty).then_some(details)),
        _ => (Map::new(), Some(details)),
    }
}

/// The code of a failed response: the upstream's own if clients of OpenAI know it, else one of
/// the few for every kind.
fn failure_code(error: &ApiError) -> &str {
    if let Some(code) = error.code.as_deref()
        && (REQUEST_CODES.contains(&code) || OTHER_FAILURE_CODES.contains(&code))
    {
        return code;
    }
    match error.kind {
        ErrorKind::RateLimit => "rate_limit_exceeded",
        ErrorKind::InvalidRequest | ErrorKind::TooLarge => "invalid_prompt",
        ErrorKind::Billing => "insufficient_quota",
        _ => "server_error",
    }
}

pub(crate) fn render_error(error: &ApiError) -> RenderedError {
    let mut inner = json!({
        "message": error.message,
        "type": word_of(error.kind),
        "param": error.param,
        "code": error.code,
    });
    if let Some(map) = inner.as_object_mut() {
        let (own, details) = divide_details(error);
        map.extend(own);
        put(map, "details", details);
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
