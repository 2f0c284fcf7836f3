//! Calls of tools that a Responses client runs itself, as items of their own kind: other
//! vendors' models call them as functions.

use serde_json::{Value, json};

use crate::context::ReplyContext;
use crate::neutral::{ClientToolKind, Content, Map};

/// The kind of a tool that the client runs, when a block calls one.
pub(super) fn called_kind(content: &Content, context: &ReplyContext) -> Option<ClientToolKind> {
    match content {
        Content::ToolUse { name, .. } => context.client_tools.client_run_kind(name),
        _ => None,
    }
}

/// The id of such an item: servers recognise types of items by the prefix of their ids.
pub(super) fn item_id(runner: ClientToolKind, id: &str) -> String {
    let prefix = match runner {
        ClientToolKind::LocalShell => "lsh",
        ClientToolKind::Shell => "sh",
        ClientToolKind::ApplyPatch => "apc",
        ClientToolKind::ToolSearch => "tsc",
    };
    match id.split_once('_') {
        Some(("fc", rest)) => format!("{prefix}_{rest}"),
        _ => id.to_owned(),
    }
}

/// The whole item of such a call; `None` for all other blocks.
pub(super) fn whole(content: &Content, id: &str, context: &ReplyContext) -> Option<Value> {
    let runner = called_kind(content, context)?;
    let Content::ToolUse {
        id: call_id, input, ..
    } = content
    else {
        return None;
    };
    Some(write(runner, id, call_id, input, "completed"))
}

/// The item of a call.
pub(super) fn write(
    runner: ClientToolKind,
    id: &str,
    call_id: &str,
    input: &Value,
    status: &str,
) -> Value {
    let (kind, key, value) = match runner {
        ClientToolKind::LocalShell => ("local_shell_call", "action", exec(input)),
        ClientToolKind::Shell => ("shell_call", "action", commands(input)),
        ClientToolKind::ApplyPatch => ("apply_patch_call", "operation", operation(input)),
        ClientToolKind::ToolSearch => ("tool_search_call", "arguments", input.clone()),
    };
    let mut item = Map::from_iter([
        ("id".to_owned(), item_id(runner, id).into()),
        ("type".to_owned(), kind.into()),
        ("status".to_owned(), status.into()),
        ("call_id".to_owned(), call_id.into()),
        (key.to_owned(), value),
    ]);
    match runner {
        ClientToolKind::Shell => item.insert("environment".to_owned(), json!({"type": "local"})),
        ClientToolKind::ToolSearch => item.insert("execution".to_owned(), "client".into()),
        _ => None,
    };
    Value::Object(item)
}

/// One program with its arguments. A command line is passed to a shell; arguments that are
/// not JSON are passed on unchanged, so that the client reports them.
fn exec(input: &Value) -> Value {
    let command = match input.get("command") {
        Some(Value::String(line)) => json!(["bash", "-lc", line]),
        Some(Value::Array(words)) => words.clone().into(),
        _ => json!([]),
    };
    let given = |key: &str| input.get(key).cloned().unwrap_or(Value::Null);
    let env = input.get("env").filter(|env| env.is_object()).cloned();
    json!({
        "type": "exec",
        "command": command,
        "env": env.unwrap_or_else(|| json!({})),
        "working_directory": given("working_directory"),
        "timeout_ms": given("timeout_ms"),
        "user": null,
    })
}

fn commands(input: &Value) -> Value {
    let lines = input.get("commands").or_else(|| input.get("command"));
    let lines = match lines {
        Some(Value::String(line)) => json!([line]),
        Some(Value::Array(lines)) => lines.clone().into(),
        _ => json!([]),
    };
    let number = |key: &str| input.get(key).filter(|value| value.is_number()).cloned();
    json!({
        "commands": lines,
        "timeout_ms": number("timeout_ms"),
        "max_output_length": number("max_output_length"),
    })
}

/// One change of a file. Some models nest it one level deeper, like the item.
fn operation(input: &Value) -> Value {
    let input = input.get("operation").unwrap_or(input);
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let kind = text("type").unwrap_or("update_file");
    let path = text("path").unwrap_or_default();
    match kind {
        "delete_file" => json!({"type": kind, "path": path}),
        _ => json!({"type": kind, "path": path, "diff": text("diff").unwrap_or_default()}),
    }
}

/// The events of such a call in a stream.
pub(super) fn events(runner: ClientToolKind, item: &Value) -> Vec<(&'static str, Value)> {
    let mut events = Vec::new();
    if runner != ClientToolKind::Shell {
        return events;
    }
    let commands = item.pointer("/action/commands").and_then(Value::as_array);
    for (i, command) in commands.into_iter().flatten().enumerate() {
        for (event, key, text) in [
            ("response.shell_call_command.added", "command", &json!("")),
            ("response.shell_call_command.delta", "delta", command),
            ("response.shell_call_command.done", "command", command),
        ] {
            events.push((event, json!({"command_index": i, key: text})));
        }
    }
    events
}
