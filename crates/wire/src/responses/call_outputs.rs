//! Results in the input of a Responses request without their call, refused with OpenAI's
//! message.
//!
//! Items that a server stored (`previous_response_id`, `conversation`, `item_reference`) are
//! added to the input before it is read here. Where some of it is only referenced, or
//! encrypted by another server, the call may be in there, and nothing is refused.

use std::collections::HashSet;

use serde_json::Value;

use crate::error::WireError;
use crate::excerpt::excerpt;

/// The items that carry the result of a call.
const OUTPUT_ITEMS: [&str; 6] = [
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
    "computer_call_output",
];

/// The items that represent others which are not visible here.
const OPAQUE_ITEMS: [&str; 4] = [
    "item_reference",
    "compaction",
    "compaction_summary",
    "context_compaction",
];

/// Refuses a body with a result without its call.
pub(super) fn check(body: &Value) -> Result<(), WireError> {
    let Some(Value::Array(items)) = body.get("input") else {
        return Ok(());
    };
    let mut outputs = items.iter().filter_map(output).peekable();
    if outputs.peek().is_none() || may_be_elsewhere(body, items) {
        return Ok(());
    }
    let calls: HashSet<&str> = items.iter().filter_map(call_id).collect();
    match outputs.find(|(_, id)| !calls.contains(id)) {
        Some((kind, id)) => Err(no_call(kind, id)),
        None => Ok(()),
    }
}

fn text<'a>(item: &'a Value, key: &str) -> Option<&'a str> {
    item.get(key).and_then(Value::as_str)
}

fn kind(item: &Value) -> &str {
    text(item, "type").unwrap_or_default()
}

/// The type of a result, and the id of its call. A result without the id of a call is refused
/// by its reader, or needs none.
fn output(item: &Value) -> Option<(&str, &str)> {
    let kind = kind(item);
    if !OUTPUT_ITEMS.contains(&kind) {
        return None;
    }
    // The result of a local shell names its call in `id`.
    let id = match kind {
        "local_shell_call_output" => text(item, "call_id").or_else(|| text(item, "id")),
        _ => text(item, "call_id"),
    };
    Some((kind, id?))
}

/// The id by which results refer to an item, whatever its type. Some calls have only the id
/// of their item.
fn call_id(item: &Value) -> Option<&str> {
    let is_output = kind(item).ends_with("_output");
    let id = text(item, "call_id").or_else(|| text(item, "id"));
    id.filter(|_| !is_output)
}

/// Whether a part of the conversation is not in the input.
fn may_be_elsewhere(body: &Value, items: &[Value]) -> bool {
    let named = |key: &str| body.get(key).is_some_and(|value| !value.is_null());
    named("previous_response_id")
        || named("conversation")
        || items.iter().any(|item| OPAQUE_ITEMS.contains(&kind(item)))
}

fn no_call(kind: &str, id: &str) -> WireError {
    WireError::UnmatchedResult {
        field: "input".to_owned(),
        message: format!(
            "No tool call found for {} with call_id {}.",
            kind.replace('_', " "),
            excerpt(id)
        ),
    }
}
