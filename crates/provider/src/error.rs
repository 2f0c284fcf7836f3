//! Why a call failed, and whether to retry it.

use std::time::Duration;

use prowess_wire::WireError;
use prowess_wire::neutral::{ApiError, ErrorKind};

use crate::key::KeyError;
use crate::route_error::RouteError;

/// Why a call failed. Never contains a key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The upstream returned an error, kept unchanged.
    #[error("{}", .error.message)]
    Upstream {
        /// The provider.
        provider: String,
        /// The error.
        error: Box<ApiError>,
        /// The delay before a retry that it requested.
        retry_after: Option<Duration>,
        /// Whether it recommends a retry.
        should_retry: Option<bool>,
    },
    /// The upstream's dialect cannot express the request.
    #[error(transparent)]
    Request(#[from] WireError),
    /// The upstream's response is malformed.
    #[error("{provider}: the response could not be parsed: {reason}")]
    MalformedResponse {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The upstream's response is too large.
    #[error("{provider}: the response is larger than {limit} bytes; request a stream")]
    ResponseTooLarge {
        /// The provider.
        provider: String,
        /// The limit.
        limit: usize,
    },
    /// The connection failed, or broke before the response began.
    #[error("{provider} cannot be reached: {reason}")]
    Unreachable {
        /// The provider.
        provider: String,
        /// What went wrong.
        reason: String,
    },
    /// The response did not begin, or stopped.
    #[error("{provider} sent no {what} within {} ms", .after.as_millis())]
    Timeout {
        /// The provider.
        provider: String,
        /// What was missing.
        what: &'static str,
        /// For how long.
        after: Duration,
    },
    /// The circuit breaker is open after too many failures.
    #[error(
        "{provider}: circuit breaker open after {failures} failures; retry in {:.1} s",
        .retry_in.as_secs_f64()
    )]
    CircuitOpen {
        /// The provider.
        provider: String,
        /// Consecutive failures.
        failures: u32,
        /// When it is probed again.
        retry_in: Duration,
    },
    /// No deployment of the model can take a request now.
    #[error(
        "{model}: none of its {deployments} deployments can take a request now; retry in {:.1} s",
        .retry_in.as_secs_f64()
    )]
    NoDeployment {
        /// The model.
        model: String,
        /// How many there are.
        deployments: usize,
        /// Whether all are at a limit, and none has failed.
        rate_limited: bool,
        /// When one can.
        retry_in: Duration,
    },
    /// The model's concurrency limit is reached.
    #[error(
        "{model} is busy: {running} calls are running and {waiting} are waiting; try again later"
    )]
    Busy {
        /// The model.
        model: String,
        /// Running calls.
        running: usize,
        /// Waiting calls.
        waiting: usize,
    },
    /// There is no key for the provider.
    #[error("provider `{provider}` has no usable API key: {error}")]
    Key {
        /// The provider.
        provider: String,
        /// The reason.
        error: KeyError,
    },
    /// The name matches no provider or model.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The provider does not support this.
    #[error("{provider} cannot {what}")]
    Unsupported {
        /// The provider.
        provider: String,
        /// What was requested.
        what: &'static str,
    },
}

impl CallError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            CallError::Upstream { .. } => "upstream-error",
            CallError::Request(error) => error.code(),
            CallError::MalformedResponse { .. } => "upstream-bad-response",
            CallError::ResponseTooLarge { .. } => "upstream-response-too-large",
            CallError::Unreachable { .. } => "upstream-unreachable",
            CallError::Timeout { .. } => "upstream-timeout",
            CallError::CircuitOpen { .. } => "upstream-circuit-open",
            CallError::NoDeployment { .. } => "no-deployment",
            CallError::Busy { .. } => "model-busy",
            CallError::Key { error, .. } => error.code(),
            CallError::Route(error) => error.code(),
            CallError::Unsupported { .. } => "unsupported-by-provider",
        }
    }

    /// The error as sent to a client.
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
            CallError::NoDeployment { rate_limited, .. } => match rate_limited {
                true => (ErrorKind::RateLimit, 429),
                false => (ErrorKind::Overloaded, 503),
            },
            CallError::Busy { .. } => (ErrorKind::RateLimit, 429),
            // What clients retry: nothing is wrong with the request or the configuration.
            CallError::Key { .. } if self.retry_after().is_some() => (ErrorKind::Overloaded, 503),
            CallError::Key { .. } => (ErrorKind::Authentication, 401),
            CallError::Unsupported { .. } => (ErrorKind::InvalidRequest, 400),
        };
        let message = match self {
            // Where the operator keeps a key is in the log.
            CallError::Key {
                provider,
                error: KeyError::File { .. },
            } => format!("provider `{provider}` has no usable API key: its file cannot be read"),
            other => other.to_string(),
        };
        ApiError {
            status,
            code: Some(self.code().to_owned()),
            ..ApiError::new(kind, message)
        }
    }

    /// When a retry makes sense, if known: the response's `retry-after`.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            CallError::Upstream { retry_after, .. } => *retry_after,
            CallError::CircuitOpen { retry_in, .. } | CallError::NoDeployment { retry_in, .. } => {
                Some(*retry_in)
            }
            CallError::Key {
                error: KeyError::CredentialsUnavailable { retry_in, .. },
                ..
            } => Some(*retry_in),
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

    /// Whether another model may well answer the same request. An error in the request
    /// itself would fail everywhere.
    pub(crate) fn allows_fallback(&self) -> bool {
        match self {
            CallError::Upstream { error, .. } if is_account_fault(error) => true,
            CallError::Upstream { error, .. } => !matches!(
                error.kind,
                ErrorKind::InvalidRequest | ErrorKind::TooLarge | ErrorKind::Conflict
            ),
            _ => true,
        }
    }

    /// Whether it is a failure of the upstream, for the circuit breaker.
    pub(crate) fn is_upstream_failure(&self) -> bool {
        match self {
            CallError::Upstream { error, .. } => error.status >= 500 && !is_model_fault(error),
            CallError::Unreachable { .. } | CallError::Timeout { .. } => true,
            _ => false,
        }
    }
}

/// Statuses after which the same request may succeed.
pub(crate) fn is_retryable_status(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504 | 520..=529)
}

/// How errors begin that blame the request, by status 400, for what is wrong with the key or the
/// account: of Anthropic, Google and xAI. In lower case. What a client wrote may follow later in a
/// message, but does not begin it.
const ACCOUNT_FAULTS: [&str; 7] = [
    "api key expired",
    "api key not valid",
    "incorrect api key provided",
    "this organization has been disabled",
    "user location is not supported",
    "you have reached your specified api usage limits",
    "your credit balance is too low",
];

/// Whether the key or the account is at fault, although the status blames the request.
pub(crate) fn is_account_fault(error: &ApiError) -> bool {
    let begins_with = |known: &&str| {
        let start = error.message.get(..known.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(known))
    };
    error.status == 400 && ACCOUNT_FAULTS.iter().any(begins_with)
}

/// Codes of responses that a healthy upstream sent, but whose content cannot be used.
const MODEL_FAULT_CODES: [&str; 6] = [
    "malformed_function_call",
    "malformed_model_output",
    "malformed_response",
    "malformed_tool_use",
    "too_many_tool_calls",
    "unexpected_tool_call",
];

/// Whether the model is at fault, and not the server: another attempt may succeed, but other
/// requests are not affected.
pub(crate) fn is_model_fault(error: &ApiError) -> bool {
    let code = error.code.as_deref();
    code.is_some_and(|code| MODEL_FAULT_CODES.contains(&code))
}
