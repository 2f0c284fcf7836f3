//! Code that Google's servers ran, as calls and results of Anthropic's code execution, both ways.

use serde_json::{Value, json};

use crate::gemini::returned_code_id;
use crate::neutral::{Block, Content};
use crate::server_call_ids::{ServerCallOrigin, client_id, original_id};

/// The two parts.
pub(super) const CODE: &str = "executableCode";
pub(super) const CODE_RESULT: &str = "codeExecutionResult";

/// Anthropic's tool, and the type of its results.
const TOOL: &str = "code_execution";
const RESULT: &str = "code_execution_tool_result";

const DONE: &str = "OUTCOME_OK";
const FAILED: &str = "OUTCOME_FAILED";
const TIMED_OUT: &str = "OUTCOME_DEADLINE_EXCEEDED";
/// The return code of code that took too long, as that of `timeout`.
const TIMED_OUT_CODE: i64 = 124;

pub(super) fn write_call(code: &Value) -> Value {
    let mut input = code.as_object().cloned().unwrap_or_default();
    input.shift_remove("id");
    json!({
        "type": "server_tool_use",
        "id": id(code),
        "name": TOOL,
        "input": input,
    })
}

pub(super) fn write_result(result: &Value) -> Value {
    let text = |key: &str| result.get(key).and_then(Value::as_str);
    let output = text("output").unwrap_or_default();
    let (stdout, stderr, code) = match text("outcome") {
        Some(DONE) | None => (output, "", 0),
        Some(TIMED_OUT) => ("", output, TIMED_OUT_CODE),
        Some(_) => ("", output, 1),
    };
    json!({
        "type": RESULT,
        "tool_use_id": id(result),
        "content": {
            "type": "code_execution_result",
            "stdout": stdout,
            "stderr": stderr,
            "return_code": code,
            "content": [],
        },
    })
}

/// The reader has given an id to code that came without one.
fn id(part: &Value) -> Value {
    let id = part.get("id").and_then(Value::as_str).unwrap_or_default();
    client_id(ServerCallOrigin::Gemini, id).into()
}

/// A call or a result that a client sends back, for the writer of Gemini's requests; `None` if
/// it is none of Google's code.
pub(crate) fn restore(block: &Block) -> Option<Block> {
    let content = match &block.content {
        Content::ServerToolUse { id, name, input } if name == TOOL => Content::ServerToolUse {
            id: request_id(id)?,
            name: name.clone(),
            input: input.clone(),
        },
        Content::ServerToolResult {
            kind,
            tool_use_id,
            content,
        } if kind == RESULT && content.is_object() => Content::ServerToolResult {
            kind: kind.clone(),
            tool_use_id: request_id(tool_use_id)?,
            content: outcome(content),
        },
        _ => return None,
    };
    Some(Block {
        content,
        ..block.clone()
    })
}

fn request_id(id: &str) -> Option<String> {
    match original_id(id)? {
        (ServerCallOrigin::Gemini, id) => Some(returned_code_id(&id)),
        _ => None,
    }
}

fn outcome(result: &Value) -> Value {
    let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
    let code = result.get("return_code").and_then(Value::as_i64);
    let outcome = match code {
        Some(0) => DONE,
        Some(TIMED_OUT_CODE) => TIMED_OUT,
        _ => FAILED,
    };
    let output = [text("stdout"), text("stderr"), text("error_code")].concat();
    json!({"outcome": outcome, "output": output})
}
