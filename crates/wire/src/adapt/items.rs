//! Responses items of tools that the client runs, as calls and results of functions.
//!
//! Results become those of a server's tool, which every writer splits from the model's
//! turn; calls are ordinary calls, because some clients respond to them as such.

use serde_json::{Value, json};

use crate::model_text;
use crate::neutral::{Block, ClientToolKind, Content, Map, Request};

/// What becomes of a block.
pub(super) enum AdaptedItem {
    Unchanged,
    Removed,
    Replaced(Content),
}

/// Fits a block that is an item of Responses.
pub(super) fn adapt(block: &Block, request: &Request) -> AdaptedItem {
    let item = &block.rest;
    let replaced = match &block.content {
        Content::Other { kind } => match kind.as_str() {
            "additional_tools" => return AdaptedItem::Removed,
            "tool_search_call" | "tool_search_output" if call_id(item).is_none() => {
                // Made by the vendor's servers: the tools it found are offered.
                return AdaptedItem::Removed;
            }
            "local_shell_call" => call(ClientToolKind::LocalShell, item, "action", request),
            "apply_patch_call" => call(ClientToolKind::ApplyPatch, item, "operation", request),
            "tool_search_call" => call(ClientToolKind::ToolSearch, item, "arguments", request),
            "local_shell_call_output" => result(kind, item, text(item, "output")),
            "apply_patch_call_output" => result(kind, item, patch_output(item)),
            "tool_search_output" => result(kind, item, found_tools(item, request)),
            _ => None,
        },
        Content::ServerToolUse { .. } if is_local_shell(item, "action", request) => {
            call(ClientToolKind::Shell, item, "action", request)
        }
        Content::ServerToolResult { kind, .. } if is_local_shell(item, "output", request) => {
            result(kind, item, shell_output(item))
        }
        _ => None,
    };
    replaced.map_or(AdaptedItem::Unchanged, AdaptedItem::Replaced)
}

/// The id of a call; that of old local shells was the item's.
fn call_id(item: &Map) -> Option<&str> {
    item.get("call_id").and_then(Value::as_str)
}

fn either_id(item: &Map) -> Option<String> {
    let id = call_id(item).or_else(|| item.get("id").and_then(Value::as_str));
    id.map(str::to_owned)
}

/// Whether the client runs the shell that an item is about.
fn is_local_shell(item: &Map, key: &str, request: &Request) -> bool {
    let ours = call_id(item).is_some_and(|id| id.starts_with("srvtoolu_"));
    !ours
        && item.contains_key(key)
        && request
            .client_tools
            .name_for_kind(ClientToolKind::Shell)
            .is_some()
}

fn call(runner: ClientToolKind, item: &Map, key: &str, request: &Request) -> Option<Content> {
    let mut input = item.get(key).cloned().unwrap_or_else(|| json!({}));
    if let Some(map) = input.as_object_mut() {
        if runner == ClientToolKind::LocalShell {
            map.shift_remove("type");
        }
        map.retain(|_, value| !value.is_null());
    }
    let name = request.client_tools.name_for_kind(runner);
    Some(Content::ToolUse {
        id: either_id(item)?,
        name: name.unwrap_or(runner.as_str()).to_owned(),
        input,
    })
}

fn result(kind: &str, item: &Map, text: String) -> Option<Content> {
    Some(Content::ServerToolResult {
        kind: kind.to_owned(),
        tool_use_id: either_id(item)?,
        content: Value::String(text),
    })
}

fn text(item: &Map, key: &str) -> String {
    match item.get(key) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    }
}

fn patch_output(item: &Map) -> String {
    let output = text(item, "output");
    match (text(item, "status").as_str(), output.is_empty()) {
        ("failed", _) => model_text::patch_failed(&output),
        (_, true) => model_text::PATCH_APPLIED.to_owned(),
        (_, false) => output,
    }
}

/// The tools that the client's search found, by their plain names.
fn found_tools(item: &Map, request: &Request) -> String {
    let tools = item.get("tools").and_then(Value::as_array);
    let mut names: Vec<&str> = Vec::new();
    for tool in tools.into_iter().flatten() {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        match tool.get("tools").and_then(Value::as_array) {
            None => names.push(name),
            Some(members) => names.extend(members.iter().filter_map(|member| {
                let member = member.get("name")?.as_str()?;
                request.client_tools.member(name, member)
            })),
        }
    }
    model_text::all_found(&names)
}

/// What the commands of a shell printed, and how each ended.
fn shell_output(item: &Map) -> String {
    let Some(outputs) = item.get("output").and_then(Value::as_array) else {
        return text(item, "output");
    };
    let outputs = outputs.iter().map(|output| {
        let part = |key: &str| {
            output
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .trim_end()
        };
        let mut lines = vec![part("stdout"), part("stderr")];
        lines.retain(|line| !line.is_empty());
        let outcome = output.get("outcome").unwrap_or(&Value::Null);
        let code = outcome.get("exit_code").and_then(Value::as_i64);
        let end = match (outcome.get("type").and_then(Value::as_str), code) {
            (Some("timeout"), _) => model_text::TIMED_OUT.to_owned(),
            (_, Some(code)) => model_text::exit_code(code),
            _ => String::new(),
        };
        if !end.is_empty() {
            lines.push(&end);
        }
        lines.join("\n")
    });
    outputs.collect::<Vec<_>>().join("\n\n")
}
