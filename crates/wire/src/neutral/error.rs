//! An error for a client, in no dialect.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What went wrong, in Anthropic's classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request is at fault.
    InvalidRequest,
    /// The key is missing or wrong.
    Authentication,
    /// The account cannot pay.
    Billing,
    /// The key may not do this.
    Permission,
    /// There is no such thing.
    NotFound,
    /// The thing is not in a state for this.
    Conflict,
    /// The request is too big.
    TooLarge,
    /// Too many requests.
    RateLimit,
    /// It took too long.
    Timeout,
    /// The server is at fault.
    Api,
    /// The server has too much to do.
    Overloaded,
}

impl ErrorKind {
    /// The HTTP status that goes with the kind.
    pub fn status(self) -> u16 {
        match self {
            ErrorKind::InvalidRequest => 400,
            ErrorKind::Authentication => 401,
            ErrorKind::Billing => 402,
            ErrorKind::Permission => 403,
            ErrorKind::NotFound => 404,
            ErrorKind::Conflict => 409,
            ErrorKind::TooLarge => 413,
            ErrorKind::RateLimit => 429,
            ErrorKind::Api => 500,
            ErrorKind::Timeout => 504,
            ErrorKind::Overloaded => 529,
        }
    }

    /// The kind that an HTTP status implies when the body is not more specific.
    pub fn from_status(status: u16) -> Self {
        match status {
            401 => ErrorKind::Authentication,
            402 => ErrorKind::Billing,
            403 => ErrorKind::Permission,
            404 => ErrorKind::NotFound,
            408 | 504 => ErrorKind::Timeout,
            409 => ErrorKind::Conflict,
            413 => ErrorKind::TooLarge,
            429 => ErrorKind::RateLimit,
            503 | 529 => ErrorKind::Overloaded,
            400..=499 => ErrorKind::InvalidRequest,
            _ => ErrorKind::Api,
        }
    }

    /// Whether the same request may well succeed a little later.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            ErrorKind::RateLimit | ErrorKind::Timeout | ErrorKind::Api | ErrorKind::Overloaded
        )
    }
}

/// An error for a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// What class of error it is.
    pub kind: ErrorKind,
    /// What is wrong and what to do.
    pub message: String,
    /// A stable code, where there is one.
    pub code: Option<String>,
    /// The field of the request at fault.
    pub param: Option<String>,
    /// More, for machines; an object.
    pub details: Option<Box<Value>>,
    /// The id of the request.
    pub request_id: Option<String>,
}

impl ApiError {
    /// An error with its kind's usual status.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        ApiError {
            status: kind.status(),
            kind,
            message: message.into(),
            code: None,
            param: None,
            details: None,
            request_id: None,
        }
    }

    /// A stream of an upstream that contradicts itself.
    pub(crate) fn invalid_stream(why: &str) -> Self {
        ApiError {
            status: 502,
            code: Some("upstream-stream-malformed".to_owned()),
            ..ApiError::new(ErrorKind::Api, format!("invalid upstream stream: {why}"))
        }
    }

    /// A response of an upstream that stopped in the middle.
    pub(crate) fn truncated() -> Self {
        ApiError {
            code: Some("upstream-stream-cut".to_owned()),
            ..ApiError::new(
                ErrorKind::Api,
                "the upstream's stream ended before the response was complete",
            )
        }
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.message, self.status)
    }
}

impl std::error::Error for ApiError {}
