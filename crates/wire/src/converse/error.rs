//! Bedrock's errors: bodies of failed requests, and exceptions inside a stream.

use serde_json::Value;

use crate::event_stream::Frame;
use crate::neutral::{ApiError, ErrorKind};

/// The exception in a frame, if it is one.
pub(crate) fn read_exception(frame: &Frame) -> Option<ApiError> {
    let name = match frame.header(":message-type")? {
        "exception" => frame.header(":exception-type"),
        "error" => frame.header(":error-code"),
        _ => return None,
    };
    let name = name.unwrap_or("unknownException");
    let body: Value = serde_json::from_slice(&frame.payload).unwrap_or(Value::Null);
    let message = message_of(&body).or_else(|| frame.header(":error-message"));
    let status = body
        .get("originalStatusCode")
        .and_then(Value::as_u64)
        .and_then(|status| u16::try_from(status).ok());
    let kind = kind_of(name).unwrap_or(ErrorKind::Api);
    Some(ApiError {
        status: status.unwrap_or(kind.status()),
        code: Some(name.to_owned()),
        ..ApiError::new(
            kind,
            message.unwrap_or("the upstream gave no error message"),
        )
    })
}

/// The error of a failed request. Its class is in a header; the body may repeat it.
pub(crate) fn read_error(status: u16, body: &[u8]) -> Option<ApiError> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let name = value.get("__type").and_then(Value::as_str);
    let kind = name.and_then(kind_of);
    let message = message_of(&value)?;
    Some(ApiError {
        status,
        code: name.map(str::to_owned),
        ..ApiError::new(
            kind.unwrap_or_else(|| ErrorKind::from_status(status)),
            message,
        )
    })
}

fn message_of(body: &Value) -> Option<&str> {
    ["message", "Message", "originalMessage"]
        .into_iter()
        .find_map(|key| body.get(key)?.as_str())
}

fn kind_of(exception: &str) -> Option<ErrorKind> {
    // HTTP headers spell it with a capital and a namespace, streams do not.
    let name = exception.split([':', '#']).next_back()?;
    match name.to_ascii_lowercase().as_str() {
        "throttlingexception" => Some(ErrorKind::RateLimit),
        "validationexception" => Some(ErrorKind::InvalidRequest),
        "accessdeniedexception" => Some(ErrorKind::Permission),
        "resourcenotfoundexception" => Some(ErrorKind::NotFound),
        "modeltimeoutexception" => Some(ErrorKind::Timeout),
        "serviceunavailableexception" | "modelnotreadyexception" => Some(ErrorKind::Overloaded),
        "servicequotaexceededexception" => Some(ErrorKind::RateLimit),
        "internalserverexception" | "modelstreamerrorexception" | "modelerrorexception" => {
            Some(ErrorKind::Api)
        }
        _ => None,
    }
}
