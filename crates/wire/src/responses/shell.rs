//! OpenAI's shell items and Anthropic's bash execution blocks, both ways.

use serde_json::{Value, json};

use crate::neutral::{Content, Map};

const TOOL: &str = "bash_code_execution";
const RESULT: &str = "bash_code_execution_tool_result";
const EDITOR: &str = "text_editor_code_execution";

/// The call of a `shell_call` item.
pub(super) fn read_call(item: &Map) -> Option<Content> {
    let commands = item.get("action")?.get("commands")?.as_array()?;
    let lines: Vec<&str> = commands.iter().filter_map(Value::as_str).collect();
    let (name, input) = parse_command(&lines.join("\n"));
    Some(Content::ServerToolUse {
        id: item.get("call_id")?.as_str()?.to_owned(),
        name: name.to_owned(),
        input,
    })
}

/// The tool and the input of a command written by [`command`].
pub(crate) fn parse_command(line: &str) -> (&'static str, Value) {
    match edit(line) {
        Some(input) => (EDITOR, input),
        None => (TOOL, json!({"command": line})),
    }
}

/// The editor's input of a command written by [`command`].
fn edit(line: &str) -> Option<Value> {
    let json = line.strip_prefix(EDITOR)?.strip_prefix(' ')?;
    serde_json::from_str::<Map>(json).ok().map(Value::Object)
}

/// The result of a `shell_call_output` item.
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

/// The shell command for a call of a server tool: viewing a file is `cat`; other calls
/// are written as their name and arguments.
pub(crate) fn command(name: &str, input: &Value) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    match (name, text("command"), text("path")) {
        (TOOL, Some(command), _) => command.to_owned(),
        (EDITOR, Some("view"), Some(path)) if is_plain(path) => format!("cat {path}"),
        _ => format!("{name} {input}"),
    }
}

/// Whether a shell reads a path as one word.
fn is_plain(path: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_./+@%".contains(c);
    path.chars().all(plain)
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
/// The output files of a run are not part of OpenAI's item; they are an additional field.
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
            let why = text("error_message").unwrap_or(code);
            json!({"stdout": "", "stderr": why, "outcome": {"type": "exit", "exit_code": 1}})
        }
        // What a file holds.
        (None, None) if text("type").is_some_and(|kind| kind.ends_with("view_result")) => json!({
            "stdout": text("content").unwrap_or_default(),
            "stderr": "",
            "outcome": {"type": "exit", "exit_code": 0},
        }),
        // A result of another tool, unchanged.
        (None, None) => json!({
            "stdout": result.to_string(),
            "stderr": "",
            "outcome": {"type": "exit", "exit_code": 0},
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_written_as_cat_and_an_edit_comes_back_as_one() {
        let view = json!({"command": "view", "path": "/skills/a/SKILL.md"});
        assert_eq!(command(EDITOR, &view), "cat /skills/a/SKILL.md");
        let odd = json!({"command": "view", "path": "/mnt/data/$(x)"});
        let edit = json!({"command": "create", "path": "/mnt/data/a", "file_text": "x"});
        for input in [odd, edit] {
            let line = command(EDITOR, &input);
            let item = write_call("sh_1", "call_1", &[line], "completed");
            let read = read_call(item.as_object().unwrap()).unwrap();
            let Content::ServerToolUse {
                name, input: back, ..
            } = read
            else {
                panic!("{read:?}");
            };
            assert_eq!((name.as_str(), back), (EDITOR, input));
        }
    }

    #[test]
    fn a_viewed_file_is_what_the_command_printed() {
        let result = json!({"type": "text_editor_code_execution_view_result", "content": "Do."});
        let item = write_output("sho_1", "call_1", &result);
        assert_eq!(item["output"][0]["stdout"], "Do.");
        let error = json!({"type": "text_editor_code_execution_tool_result_error",
            "error_code": "file_not_found", "error_message": "no such file"});
        let item = write_output("sho_1", "call_1", &error);
        assert_eq!(item["output"][0]["stderr"], "no such file");
    }
}
