//! OpenAI's shell items and Anthropic's bash execution blocks, both ways.

use serde_json::{Value, json};

use crate::neutral::{Content, Map};

const TOOL: &str = "bash_code_execution";
const RESULT: &str = "bash_code_execution_tool_result";

/// The call a `shell_call` item tells.
pub(super) fn read_call(item: &Map) -> Option<Content> {
    let commands = item.get("action")?.get("commands")?.as_array()?;
    let lines: Vec<&str> = commands.iter().filter_map(Value::as_str).collect();
    Some(Content::ServerToolUse {
        id: item.get("call_id")?.as_str()?.to_owned(),
        name: TOOL.to_owned(),
        input: json!({"command": lines.join("\n")}),
    })
}

/// The result a `shell_call_output` item tells.
pub(super) fn read_output(item: &Map) -> Option<Content> {
    let outputs = item.get("output")?.as_array()?;
    let all = |key: &str| -> String {
        let texts = outputs
            .iter()
            .filter_map(|output| output.get(key)?.as_str());
        texts.collect()
    };
    let code = outputs
        .iter()
        .filter_map(|output| output.get("outcome")?.get("exit_code")?.as_i64())
        .next_back();
    let content = match code {
        Some(code) => json!({
            "type": "bash_code_execution_result",
            "stdout": all("stdout"),
            "stderr": all("stderr"),
            "return_code": code,
            "content": item.get("files").cloned().unwrap_or_else(|| json!([])),
        }),
        None => json!({
            "type": "bash_code_execution_tool_result_error",
            "error_code": "execution_time_exceeded",
        }),
    };
    Some(Content::ServerToolResult {
        kind: RESULT.to_owned(),
        tool_use_id: item.get("call_id")?.as_str()?.to_owned(),
        content,
    })
}

/// The command a call of a server tool tells; tools other than bash are told with
/// their name and arguments.
pub(super) fn command(name: &str, input: &Value) -> String {
    match input.get("command").and_then(Value::as_str) {
        Some(command) if name == TOOL => command.to_owned(),
        _ => format!("{name} {input}"),
    }
}

/// A `shell_call` item.
pub(super) fn write_call(id: &str, call_id: &str, commands: &[String], status: &str) -> Value {
    json!({
        "id": id,
        "type": "shell_call",
        "status": status,
        "call_id": call_id,
        "action": {"commands": commands, "timeout_ms": null, "max_output_length": null},
    })
}

/// A `shell_call_output` item.
///
/// The files a run made are no part of OpenAI's item; they stand beside its fields.
pub(super) fn write_output(id: &str, call_id: &str, result: &Value) -> Value {
    let mut item = json!({
        "id": id,
        "type": "shell_call_output",
        "status": "completed",
        "call_id": call_id,
        "max_output_length": null,
        "output": [output(result)],
    });
    let files = result.get("content").and_then(Value::as_array);
    if let (Some(files), Some(map)) = (
        files.filter(|files| !files.is_empty()),
        item.as_object_mut(),
    ) {
        map.insert("files".to_owned(), json!(files));
    }
    item
}

fn output(result: &Value) -> Value {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    if text("error_code") == Some("execution_time_exceeded") {
        return json!({"stdout": "", "stderr": "", "outcome": {"type": "timeout"}});
    }
    match (
        result.get("return_code").and_then(Value::as_i64),
        text("error_code"),
    ) {
        (Some(code), _) => json!({
            "stdout": text("stdout").unwrap_or_default(),
            "stderr": text("stderr").unwrap_or_default(),
            "outcome": {"type": "exit", "exit_code": code},
        }),
        (None, Some(code)) => {
            json!({"stdout": "", "stderr": code, "outcome": {"type": "exit", "exit_code": 1}})
        }
        // A result of another tool, told as it stands.
        (None, None) => json!({
            "stdout": result.to_string(),
            "stderr": "",
            "outcome": {"type": "exit", "exit_code": 0},
        }),
    }
}
