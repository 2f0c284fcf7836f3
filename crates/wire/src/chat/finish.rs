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
    Ok(match word.to_ascii_lowercase().as_str() {
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

fn abandoned_error(kind: ErrorKind, word: &str) -> ApiError {
    ApiError {
        code: Some("upstream-stopped".to_owned()),
        ..ApiError::new(
            kind,
            format!("the upstream stopped before the response was complete: {word}"),
        )
    }
}
