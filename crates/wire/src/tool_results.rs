//! Results in Chat and Messages requests without their call in the conversation.
//!
//! The vendors of both refuse them. So does the reader, with the message of the client's own
//! vendor: an upstream of another dialect would name paths of a body that the client did
//! not send. [`crate::responses`] and [`crate::gemini`] check their own.

use std::collections::HashSet;

use serde_json::Value;

use crate::Dialect;
use crate::error::WireError;
use crate::excerpt::excerpt;
use crate::neutral::{Block, Content, Request};

/// Refuses a request with a result without its call.
pub(crate) fn check(request: &Request) -> Result<(), WireError> {
    let blocks = || request.messages.iter().flat_map(|message| &message.content);
    let mut results = blocks().filter_map(result).peekable();
    if results.peek().is_none() || blocks().any(is_summary) {
        return Ok(());
    }
    let calls: HashSet<&str> = blocks().filter_map(call_id).collect();
    match results.find(|(_, id)| !calls.contains(id)) {
        Some((block, id)) => Err(no_call(request.origin, block, id, calls.is_empty())),
        None => Ok(()),
    }
}

/// A result, and the id of its call.
fn result(block: &Block) -> Option<(&Block, &str)> {
    match &block.content {
        Content::ToolResult { tool_use_id, .. } => Some((block, tool_use_id)),
        _ => None,
    }
}

/// Whether a block represents a part of the conversation that may have been removed.
fn is_summary(block: &Block) -> bool {
    matches!(&block.content, Content::Other { kind } if kind == "compaction")
}

/// The id of a call, also of one of a kind that is not known here.
fn call_id(block: &Block) -> Option<&str> {
    match &block.content {
        Content::ToolUse { id, .. } | Content::ServerToolUse { id, .. } => Some(id),
        Content::Other { .. } => block.rest.get("id").and_then(Value::as_str),
        _ => None,
    }
}

/// `alone`: the conversation has no calls at all.
fn no_call(dialect: Dialect, block: &Block, id: &str, alone: bool) -> WireError {
    let path = block.client_path.get().map_or("messages", |(_, path)| path);
    let id = excerpt(id);
    let (key, message) = match (dialect, alone) {
        (Dialect::Chat, true) => (
            "tool_call_id",
            "Invalid parameter: messages with role 'tool' must be a response to a preceding \
             message with 'tool_calls'."
                .to_owned(),
        ),
        (Dialect::Chat, false) => (
            "tool_call_id",
            format!(
                "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of \
                 previous message."
            ),
        ),
        _ => (
            "tool_use_id",
            format!(
                "{path}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous \
                 message."
            ),
        ),
    };
    WireError::UnmatchedResult {
        field: format!("{path}.{key}"),
        message,
    }
}
