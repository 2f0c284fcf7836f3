//! Events that runs in this process and on a server both have.

use prowess_wire::neutral::{Block, Response, StopReason};
use serde_json::{Value, json};

/// More of the answer's text.
pub(super) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// More of what the model thinks.
pub(super) fn thinking(text: &str) -> Value {
    json!({"type": "thinking", "text": text})
}

/// The end of a run, with its result.
pub(super) fn ended(run: Option<&str>, response: &Response, files: &[Value]) -> Value {
    let usage = &response.usage;
    let container = response.container.as_ref();
    let container = container.and_then(|container| container.get("id")?.as_str());
    let texts: Vec<&str> = response.content.iter().filter_map(Block::as_text).collect();
    json!({
        "type": "ended",
        "run": run,
        "text": texts.join("\n"),
        "model": response.model,
        "stop_reason": response.stop_reason.as_ref().map(StopReason::as_str),
        "container": container,
        "files": files,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
            "thinking_tokens": usage.thinking_tokens,
        },
    })
}
