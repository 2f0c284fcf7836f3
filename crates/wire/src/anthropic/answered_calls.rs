//! Calls that another vendor's servers have answered, for a Messages client: as those of
//! Anthropic's server tools, where there is one of the kind. Knows nothing of streams.

use serde_json::{Value, json};

use super::response_block::other_fields;
use crate::neutral::{Block, Content, DIALECT_FIELDS};

/// How ids of Anthropic's server tools begin. It refuses all others.
const SERVER_CALL: &str = "srvtoolu_";

/// The call, or its result.
pub(super) fn write(block: &Block) -> Option<Value> {
    let Content::Other { kind } = &block.content else {
        return None;
    };
    match kind.as_str() {
        "web_search_call" | "code_interpreter_call" => openais_call(kind, block),
        "executableCode" => Some(googles_code(block.rest.get(kind)?)),
        "codeExecutionResult" => Some(googles_result(block.rest.get(kind)?)),
        _ => None,
    }
}

fn openais_call(kind: &str, block: &Block) -> Option<Value> {
    let own = block.rest.get(DIALECT_FIELDS)?;
    let mut fields = other_fields(block);
    let (name, input) = if kind == "web_search_call" {
        ("web_search", fields.shift_remove("action"))
    } else {
        let code = fields.shift_remove("code").unwrap_or_default();
        ("code_execution", Some(json!({"code": code})))
    };
    let id = block.rest.get("id").or_else(|| own.get("item")?.get("id"));
    let input = input.filter(Value::is_object);
    fields.insert("type".to_owned(), "server_tool_use".into());
    fields.insert("id".to_owned(), id?.as_str()?.into());
    fields.insert("name".to_owned(), name.into());
    fields.insert("input".to_owned(), input.unwrap_or_else(|| json!({})));
    Some(Value::Object(fields))
}

fn googles_code(code: &Value) -> Value {
    let mut input = code.as_object().cloned().unwrap_or_default();
    input.shift_remove("id");
    json!({
        "type": "server_tool_use",
        "id": code_id(code),
        "name": "code_execution",
        "input": input,
    })
}

fn googles_result(result: &Value) -> Value {
    let output = result.get("output").and_then(Value::as_str);
    let output = output.unwrap_or_default();
    let outcome = result.get("outcome").and_then(Value::as_str);
    let (stdout, stderr, code) = match outcome {
        Some("OUTCOME_OK") | None => (output, "", 0),
        Some(_) => ("", output, 1),
    };
    json!({
        "type": "code_execution_tool_result",
        "tool_use_id": code_id(result),
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
fn code_id(part: &Value) -> String {
    let id = part.get("id").and_then(Value::as_str).unwrap_or_default();
    if id.starts_with(SERVER_CALL) {
        return id.to_owned();
    }
    let id = id.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    format!("{SERVER_CALL}{id}")
}
