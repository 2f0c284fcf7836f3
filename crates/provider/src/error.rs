//! Why a call gave no answer, and what may be done about it.

use std::time::Duration;

use prowess_wire::WireError;
use prowess_wire::neutral::{ApiError, ErrorKind};

use crate::key::KeyError;
use crate::routing_table::RouteError;

/// Why a call gave no answer. Never holds a key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The upstream answered with an error; it is kept as it was.
    #[error("{}", .error.message)]
    Upstream {
        /// The provider.
        provider: String,
        /// What it said.
        error: Box<ApiError>,
        /// When it asked to be called again.
        retry_after: Option<Duration>,
        /// Whether it said that calling again is of use.
        should_retry: Option<bool>,
    },
    /// The upstream's dialect cannot say the request.
    #[error(transparent)]
    Request(#[from] WireError),
    /// The upstream's answer makes no sense.
    #[error("{provider}: the answer could not be read: {reason}")]
    MalformedResponse {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The upstream's answer is bigger than allowed.
    #[error("{provider}: the answer has more than {limit} bytes; ask for a stream")]
    ResponseTooLarge {
        /// The provider.
        provider: String,
        /// The limit.
        limit: usize,
    },
    /// There is no connection, or it broke before the answer began.
    #[error("{provider} cannot be reached: {reason}")]
    Unreachable {
        /// The provider.
        provider: String,
        /// What went wrong.
        reason: String,
    },
    /// The answer did not begin, or stopped growing.
    #[error("{provider} gave no {what} within {} ms", .after.as_millis())]
    Timeout {
        /// The provider.
        provider: String,
        /// What was waited for.
        what: &'static str,
        /// For how long.
        after: Duration,
    },
    /// The upstream has failed so often that it is left alone for now.
    #[error(
        "{provider} has failed {failures} times in a row and is left alone for {} more ms",
        .retry_in.as_millis()
    )]
    CircuitOpen {
        /// The provider.
        provider: String,
        /// How often it failed.
        failures: u32,
        /// When it will be tried again.
        retry_in: Duration,
    },
    /// All places of the model are taken.
    #[error("{model} is busy: {running} calls run and {waiting} wait; try again later")]
    Busy {
        /// The model.
        model: String,
        /// Calls that run.
        running: usize,
        /// Calls that wait.
        waiting: usize,
    },
    /// There is no key to call the provider with.
    #[error("{provider} has no key: {error}")]
    Key {
        /// The provider.
        provider: String,
        /// Why.
        error: KeyError,
    },
    /// The name means no provider or model.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The provider cannot do this at all.
    #[error("{provider} cannot {what}")]
    Unsupported {
        /// The provider.
        provider: String,
        /// What was asked of it.
        what: &'static str,
    },
}

impl CallError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            CallError::Upstream { .. } => "upstream-error",
            CallError::Request(error) => error.code(),
            CallError::MalformedResponse { .. } => "upstream-bad-answer",
            CallError::ResponseTooLarge { .. } => "upstream-answer-too-large",
            CallError::Unreachable { .. } => "upstream-unreachable",
            CallError::Timeout { .. } => "upstream-timeout",
            CallError::CircuitOpen { .. } => "upstream-left-alone",
            CallError::Busy { .. } => "model-busy",
            CallError::Key { error, .. } => error.code(),
            CallError::Route(error) => error.code(),
            CallError::Unsupported { .. } => "unsupported-by-provider",
        }
    }

    /// The error as a client is told of it.
    pub fn to_api_error(&self) -> ApiError {
        let (kind, status) = match self {
            CallError::Upstream { error, .. } => return (**error).clone(),
            CallError::Request(error) => return error.to_api_error(),
            CallError::Route(error) => return error.to_api_error(),
            CallError::MalformedResponse { .. }
            | CallError::ResponseTooLarge { .. }
            | CallError::Unreachable { .. } => (ErrorKind::Api, 502),
            CallError::Timeout { .. } => (ErrorKind::Timeout, 504),
            CallError::CircuitOpen { .. } => (ErrorKind::Overloaded, 503),
            CallError::Busy { .. } => (ErrorKind::RateLimit, 429),
            CallError::Key { .. } => (ErrorKind::Authentication, 401),
            CallError::Unsupported { .. } => (ErrorKind::InvalidRequest, 400),
        };
        ApiError {
            status,
            code: Some(self.code().to_owned()),
            ..ApiError::new(kind, self.to_string())
        }
    }

    /// When it is worth calling again, if anyone knows: the `retry-after` of the answer.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            CallError::Upstream { retry_after, .. } => *retry_after,
            CallError::CircuitOpen { retry_in, .. } => Some(*retry_in),
            _ => None,
        }
    }

    /// Whether the same request may be sent to the same upstream again.
    pub(crate) fn is_retryable(&self) -> bool {
        match self {
            CallError::Upstream {
                error,
                should_retry,
                ..
            } => should_retry.unwrap_or(is_retryable_status(error.status)),
            CallError::Unreachable { .. } => true,
            _ => false,
        }
    }

    /// Whether another model may well answer the same request. What the request itself
    /// is at fault for, no other model will take.
    pub(crate) fn allows_fallback(&self) -> bool {
        match self {
            CallError::Upstream { error, .. } => !matches!(
                error.kind,
                ErrorKind::InvalidRequest | ErrorKind::TooLarge | ErrorKind::Conflict
            ),
            _ => true,
        }
    }

    /// Whether it speaks of an upstream in trouble, for the circuit breaker.
    pub(crate) fn is_upstream_failure(&self) -> bool {
        match self {
            CallError::Upstream { error, .. } => error.status >= 500,
            CallError::Unreachable { .. } | CallError::Timeout { .. } => true,
            _ => false,
        }
    }
}

/// Statuses after which the same request may well succeed.
pub(crate) fn is_retryable_status(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 520..=529)
}
