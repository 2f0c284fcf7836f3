//! Code that a server ran, in Gemini's form: `executableCode` and `codeExecutionResult`,
//! both ways. Output files follow as `fileData`.
//!
//! Older models of Gemini's send code without an id. Clients of other dialects pair a call and its
//! result by one, so the readers of responses add it, and Gemini's own form is written without it.

use serde_json::{Value, json};

use super::fields_in::fields;
use crate::error::WireError;
use crate::fields::put;
use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, Map};
use crate::responses::{command, parse_command};
use crate::tool_names::digest;

/// The two parts.
const CODE: &str = "executableCode";
const CODE_RESULT: &str = "codeExecutionResult";
/// How ids begin that the readers of responses have added.
const ADDED_ID: &str = "prowess_";

/// How ids begin of calls that a server other than Google's ran.
const SERVER_CALL: &str = "srvtoolu_";
/// Prefixes of ids of code that Google's servers ran: any, with the id it had there, and
/// without one.
const GOOGLE_CODE: &str = "gcode_";
const WITH_ID: &str = "gcode_g_";
const WITHOUT_ID: &str = "gcode_n_";
/// How the type of a result of code execution ends.
const RESULT: &str = "code_execution_tool_result";
const BASH_RESULT: &str = "bash_code_execution_tool_result";
/// How Gemini names a file.
const FILES: &str = "files/";

/// Whether a server tool is one that runs code.
pub(super) fn is_code(tool: &str) -> bool {
    tool.ends_with("code_execution")
}

/// Whether a result is one of code.
pub(super) fn is_result(kind: &str) -> bool {
    kind.ends_with(RESULT)
}

/// Whether Google's servers ran it.
pub(super) fn is_from_google(id: &str) -> bool {
    id.starts_with(GOOGLE_CODE)
}

/// Adds an id to a part of a response that is code or a result and has none. A result has that of
/// the code before it; `runs` counts the code of the response.
pub(super) fn add_id(part: &mut Map, response_id: &str, runs: &mut usize) {
    *runs += usize::from(part.contains_key(CODE));
    for kind in [CODE, CODE_RESULT] {
        let Some(fields) = part.get_mut(kind).and_then(Value::as_object_mut) else {
            continue;
        };
        let id = fields.get("id").and_then(Value::as_str);
        if id.is_none_or(str::is_empty) {
            let digest = digest(&format!("{response_id}/code/{runs}"), 24);
            fields.insert("id".to_owned(), format!("{ADDED_ID}{digest}").into());
        }
    }
}

/// A part as Gemini sent it.
pub(super) fn without_added_id(mut part: Map) -> Value {
    for kind in [CODE, CODE_RESULT] {
        let fields = part.get_mut(kind).and_then(Value::as_object_mut);
        if let Some(fields) = fields
            && let Some(id) = fields.get("id").and_then(Value::as_str)
            && id.starts_with(ADDED_ID)
        {
            fields.shift_remove("id");
        }
    }
    Value::Object(part)
}

/// The id in a request of code that had this one in a response.
pub(crate) fn returned_code_id(id: &str) -> String {
    match id.strip_prefix(ADDED_ID) {
        Some(digest) => format!("{WITHOUT_ID}{digest}"),
        None => format!("{WITH_ID}{id}"),
    }
}

/// A call as a part.
pub(super) fn write_call(id: &str, name: &str, input: &Value) -> Value {
    if is_from_google(id) {
        let mut code = input.as_object().cloned().unwrap_or_default();
        put(&mut code, "id", id.strip_prefix(WITH_ID));
        return json!({"executableCode": code});
    }
    let code = command(name, input);
    // Python is the only language that Gemini has a value for.
    json!({"executableCode": {"id": id, "language": "LANGUAGE_UNSPECIFIED", "code": code}})
}

/// A result as parts.
pub(super) fn write_result(id: &str, content: &Value) -> Vec<Value> {
    if is_from_google(id) {
        let mut result = content.as_object().cloned().unwrap_or_default();
        put(&mut result, "id", id.strip_prefix(WITH_ID));
        return vec![json!({"codeExecutionResult": result})];
    }
    let (outcome, output) = outcome(content);
    let result = json!({"id": id, "outcome": outcome, "output": output});
    let files = content.get("content").and_then(Value::as_array);
    let files = files.into_iter().flatten().filter_map(file);
    let mut parts = vec![json!({"codeExecutionResult": result})];
    parts.extend(files);
    parts
}

fn outcome(content: &Value) -> (&'static str, String) {
    let text = |key: &str| content.get(key).and_then(Value::as_str).unwrap_or_default();
    let code = content.get("return_code").and_then(Value::as_i64);
    match (code, text("error_code")) {
        (_, "execution_time_exceeded") => ("OUTCOME_DEADLINE_EXCEEDED", text("error_code").into()),
        (Some(code), _) => {
            let outcome = if code == 0 {
                "OUTCOME_OK"
            } else {
                "OUTCOME_FAILED"
            };
            let texts = [text("stdout"), text("stderr")];
            let texts = texts.into_iter().filter(|text| !text.is_empty());
            (outcome, texts.collect::<Vec<_>>().join("\n"))
        }
        (None, "") if text("type").ends_with("view_result") => {
            ("OUTCOME_OK", text("content").into())
        }
        (None, "") => ("OUTCOME_OK", content.to_string()),
        (None, code) => {
            let why = Some(text("error_message")).filter(|why| !why.is_empty());
            ("OUTCOME_FAILED", why.unwrap_or(code).to_owned())
        }
    }
}

/// An output file. Its name, type and container are next to its id where they are
/// known.
fn file(output: &Value) -> Option<Value> {
    let text = |key: &str| output.get(key).and_then(Value::as_str);
    let id = text("file_id")?;
    let mut data = Map::new();
    put(&mut data, "fileUri", Some(format!("{FILES}{id}")));
    put(&mut data, "mimeType", text("mime_type"));
    put(&mut data, "displayName", text("filename"));
    let mut part = Map::from_iter([("fileData".to_owned(), Value::Object(data))]);
    if let Some(container) = text("container") {
        part.insert("partMetadata".to_owned(), json!({"container": container}));
    }
    Some(Value::Object(part))
}

/// The id of a file that this server stores, from the name that Gemini's clients use.
pub(super) fn file_id(uri: &str) -> Option<&str> {
    let id = uri.strip_prefix(FILES)?;
    id.starts_with("file_").then_some(id)
}

/// Code that was run; `n` counts those of the request.
pub(super) fn read_call(value: Value, path: &JsonPath<'_>, n: usize) -> Result<Block, WireError> {
    let mut code = fields(value, path)?;
    let id = code.opt_string("id")?;
    if let Some(id) = id.as_ref().filter(|id| id.starts_with(SERVER_CALL)) {
        let line = code.opt_string("code")?.unwrap_or_default();
        let (name, input) = parse_command(&line);
        return Ok(Block::new(Content::ServerToolUse {
            id: id.clone(),
            name: name.to_owned(),
            input,
        }));
    }
    Ok(Block::new(Content::ServerToolUse {
        id: google_code_id(id, n),
        name: "code_execution".to_owned(),
        input: code.rest().into(),
    }))
}

/// A result of code; without an id, that of the last code.
pub(super) fn read_result(value: Value, path: &JsonPath<'_>, n: usize) -> Result<Block, WireError> {
    let mut result = fields(value, path)?;
    let id = result.opt_string("id")?;
    if let Some(id) = id.as_ref().filter(|id| id.starts_with(SERVER_CALL)) {
        let output = result.opt_string("output")?.unwrap_or_default();
        let content = match result.opt_string("outcome")?.as_deref() {
            Some("OUTCOME_DEADLINE_EXCEEDED") => json!({
                "type": "bash_code_execution_tool_result_error",
                "error_code": "execution_time_exceeded",
            }),
            outcome => {
                let failed = outcome == Some("OUTCOME_FAILED");
                json!({
                    "type": "bash_code_execution_result",
                    "stdout": output, "stderr": "", "return_code": i32::from(failed), "content": [],
                })
            }
        };
        return Ok(Block::new(Content::ServerToolResult {
            kind: BASH_RESULT.to_owned(),
            tool_use_id: id.clone(),
            content,
        }));
    }
    Ok(Block::new(Content::ServerToolResult {
        kind: RESULT.to_owned(),
        tool_use_id: google_code_id(id, n),
        content: result.rest().into(),
    }))
}

fn google_code_id(id: Option<String>, n: usize) -> String {
    match id {
        Some(id) => format!("{WITH_ID}{id}"),
        None => format!("{WITHOUT_ID}{n}"),
    }
}
