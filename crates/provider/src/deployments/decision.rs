//! Why a deployment or a fallback answered, for the header `prowess-route` and for traces.

use std::fmt::{self, Display, Write as _};

use super::failure_class::{FailureClass, classify};
use crate::config::DeploymentStrategy;
use crate::error::CallError;

/// The longest name in a header; what is longer is cut.
const MAX_NAME_BYTES: usize = 200;

/// Which model answered, and why that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteDecision {
    /// The model name that the client sent.
    pub route: String,
    /// The provider that answered.
    pub provider: String,
    /// The model that answered, as the provider calls it.
    pub model: String,
    /// How many models were called, with this one.
    pub attempt: u32,
    /// Why this one.
    pub reason: RouteReason,
    /// How many models were passed over, because the client's own key is meant for another
    /// provider and they have none.
    pub without_key: u32,
}

/// Why a model answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteReason {
    /// Chosen among deployments.
    Chosen(DeploymentStrategy),
    /// The conversation was answered by the same deployment before.
    Sticky,
    /// Another deployment of the model failed.
    Retry(FailureCode),
    /// The model failed, and this is one of its fallbacks.
    Fallback(FailureCode),
}

/// What went wrong with the model before, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCode {
    /// It sent this status.
    Status(u16),
    /// Anything else.
    Word(&'static str),
}

impl FailureCode {
    /// The code of an error.
    pub(crate) fn from_error(error: &CallError) -> FailureCode {
        match (classify(error), error) {
            (FailureClass::ContextOverflow, _) => FailureCode::Word("context"),
            (FailureClass::ContentFilter, _) => FailureCode::Word("content-filter"),
            (_, CallError::Upstream { error, .. }) => FailureCode::Status(error.status),
            (_, CallError::Timeout { .. }) => FailureCode::Word("timeout"),
            (_, CallError::Unreachable { .. }) => FailureCode::Word("unreachable"),
            (_, CallError::CircuitOpen { .. } | CallError::NoDeployment { .. }) => {
                FailureCode::Word("cooldown")
            }
            (_, CallError::Busy { .. }) => FailureCode::Word("busy"),
            (_, other) => FailureCode::Word(other.code()),
        }
    }
}

impl Display for FailureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureCode::Status(status) => write!(f, "{status}"),
            FailureCode::Word(word) => f.write_str(word),
        }
    }
}

impl Display for RouteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RouteReason::Chosen(strategy) => f.write_str(strategy.as_str()),
            RouteReason::Sticky => f.write_str("sticky"),
            RouteReason::Retry(code) => write!(f, "retry:{code}"),
            RouteReason::Fallback(code) => write!(f, "fallback:{code}"),
        }
    }
}

impl RouteDecision {
    /// The value of the header `prowess-route`. Characters that are not allowed in it, or
    /// that separate its parts, are percent-encoded.
    pub fn header_value(&self) -> String {
        let mut value = String::with_capacity(96);
        value.push_str("model=");
        push_encoded(&mut value, &self.route);
        value.push_str("; deployment=");
        push_encoded(&mut value, &self.provider);
        value.push('/');
        push_encoded(&mut value, &self.model);
        // Writing to a string does not fail.
        let _ = write!(value, "; attempt={}; reason={}", self.attempt, self.reason);
        if self.without_key > 0 {
            let _ = write!(value, "; without-key={}", self.without_key);
        }
        value
    }
}

fn push_encoded(value: &mut String, name: &str) {
    for byte in name.bytes().take(MAX_NAME_BYTES) {
        if byte.is_ascii_graphic() && !matches!(byte, b';' | b'%' | b'=' | b',') {
            value.push(char::from(byte));
        } else {
            let _ = write!(value, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_no_bytes_that_a_header_cannot_have() {
        let decision = RouteDecision {
            route: "größe; a=b\n".to_owned(),
            provider: "eu".to_owned(),
            model: "org/gpt-5:beta".to_owned(),
            attempt: 2,
            reason: RouteReason::Retry(FailureCode::Status(429)),
            without_key: 0,
        };
        assert_eq!(
            decision.header_value(),
            "model=gr%C3%B6%C3%9Fe%3B%20a%3Db%0A; deployment=eu/org/gpt-5:beta; attempt=2; \
             reason=retry:429"
        );
    }
}
