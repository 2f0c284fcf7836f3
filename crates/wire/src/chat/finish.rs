//! Finish reasons of Chat servers, with the values of many vendors.

use crate::neutral::{ApiError, ErrorKind, StopReason};

/// The stop reason. Some servers send `stop` although they call tools, so the calls decide;
/// an unknown value ends the response without further meaning. A server that gave up has not
/// responded.
pub(super) fn stop_reason(
    reason: Option<&str>,
    calls: bool,
    refused: bool,
) -> Result<StopReason, ApiError> {
    let word = reason.unwrap_or_default();
    let lower = word.to_ascii_lowercase();
    // Google's servers add their own reason: `function_call_filter: MALFORMED_FUNCTION_CALL`.
    let lower = lower.as_str();
    let (general, own) = lower.split_once(": ").unwrap_or((lower, lower));
    if MODEL_FAULTS.contains(&own) {
        return Err(unusable_output(own));
    }
    Ok(match general {
        "length" | "max_tokens" | "model_length" => StopReason::MaxTokens,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        "content_filter" | "safety" | "sensitive" | "recitation" | "refusal" => StopReason::Refusal,
        "error" | "network_error" | "abort" => return Err(abandoned_error(ErrorKind::Api, word)),
        "insufficient_system_resource" => return Err(abandoned_error(ErrorKind::Overloaded, word)),
        _ if refused => StopReason::Refusal,
        _ if calls => StopReason::ToolUse,
        _ => StopReason::EndTurn,
    })
}

/// What Gemini calls output that cannot be used: the same request may well give another one.
const MODEL_FAULTS: [&str; 4] = [
    "malformed_function_call",
    "malformed_response",
    "too_many_tool_calls",
    "unexpected_tool_call",
];

/// The error that Gemini's own API gives for the same reason.
fn unusable_output(reason: &str) -> ApiError {
    let name = reason.to_ascii_uppercase();
    ApiError {
        status: 502,
        code: Some(reason.to_owned()),
        ..ApiError::new(
            ErrorKind::Api,
            format!("the model's output could not be used: {name}"),
        )
    }
}

fn abandoned_error(kind: ErrorKind, word: &str) -> ApiError {
    ApiError {
        code: Some("upstream-stopped".to_owned()),
        ..ApiError::new(
            kind,
            format!("the upstream stopped before the response was complete: {word}"),
        )
    }
}
