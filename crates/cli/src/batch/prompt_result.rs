//! The result of a prompt, from a line of Anthropic's results.

use prowess_wire::output_files::file_ids_in_response;
use serde_json::{Map, Value, json};

/// A line of the results of a batch of messages.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MessageResult {
    pub(super) name: String,
    pub(super) outcome: MessageOutcome,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum MessageOutcome {
    Succeeded(Value),
    Failed {
        /// `errored`, `canceled` or `expired`.
        status: String,
        message: String,
    },
}

impl MessageResult {
    /// Reads a line; none if it is not one.
    pub(super) fn parse(line: &[u8]) -> Option<MessageResult> {
        let mut line: Value = serde_json::from_slice(line).ok()?;
        let name = line.get("custom_id")?.as_str()?.to_owned();
        let result = line.get_mut("result")?;
        let status = result.get("type")?.as_str()?.to_owned();
        let outcome = match status.as_str() {
            "succeeded" => MessageOutcome::Succeeded(result.get_mut("message")?.take()),
            _ => {
                let message = result
                    .pointer("/error/error/message")
                    .and_then(Value::as_str);
                let message = message.map_or_else(|| reason(&status), str::to_owned);
                MessageOutcome::Failed { status, message }
            }
        };
        Some(MessageResult { name, outcome })
    }

    /// Input and output tokens.
    pub(super) fn tokens(&self) -> (u64, u64) {
        let MessageOutcome::Succeeded(message) = &self.outcome else {
            return (0, 0);
        };
        let count = |field: &str| {
            let count = message.pointer(&format!("/usage/{field}"));
            count.and_then(Value::as_u64).unwrap_or_default()
        };
        let cached = count("cache_read_input_tokens") + count("cache_creation_input_tokens");
        (count("input_tokens") + cached, count("output_tokens"))
    }

    /// The ids of the files that the model's code created.
    pub(super) fn file_ids(&self) -> Vec<String> {
        match &self.outcome {
            MessageOutcome::Succeeded(message) => {
                file_ids_in_response(message.to_string().as_bytes())
            }
            MessageOutcome::Failed { .. } => Vec::new(),
        }
    }

    /// The result as it is written for the prompt of a line.
    pub(super) fn to_json(&self, line: u64, id: Option<Value>, files: &[String]) -> Value {
        let mut written = Map::new();
        let mut set = |field: &str, value: Value| written.insert(field.to_owned(), value);
        set("line", line.into());
        if let Some(id) = id {
            set("id", id);
        }
        match &self.outcome {
            MessageOutcome::Succeeded(message) => {
                let (input, output) = self.tokens();
                set("status", "succeeded".into());
                set("text", text(message).into());
                let reason = message.get("stop_reason").cloned();
                set("stop_reason", reason.unwrap_or_default());
                set("input_tokens", input.into());
                set("output_tokens", output.into());
                if !files.is_empty() {
                    set("files", files.into());
                }
            }
            MessageOutcome::Failed { status, message } => {
                set("status", status.as_str().into());
                set("error", json!(message));
            }
        }
        written.into()
    }
}

/// The text blocks of a message, as `prowess run` joins them.
fn text(message: &Value) -> String {
    let blocks = message.get("content").and_then(Value::as_array);
    let texts = blocks.into_iter().flatten().filter_map(|block| {
        let is_text = block.get("type").and_then(Value::as_str) == Some("text");
        block
            .get("text")
            .and_then(Value::as_str)
            .filter(|_| is_text)
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn reason(status: &str) -> String {
    match status {
        "canceled" => "the request was cancelled".to_owned(),
        "expired" => "the request was not run before the batch expired".to_owned(),
        _ => "the request failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(line: &Value) -> String {
        let result = MessageResult::parse(line.to_string().as_bytes()).unwrap();
        let files = result.file_ids();
        result.to_json(3, Some("a".into()), &files).to_string()
    }

    #[test]
    fn a_message_becomes_its_text_and_its_files() {
        let output = json!({"type": "bash_code_execution_output", "file_id": "file_1"});
        let result = json!({"type": "bash_code_execution_result", "content": [output]});
        let line = json!({"custom_id": "line-3", "result": {"type": "succeeded", "message": {
            "content": [
                {"type": "text", "text": "One."},
                {"type": "bash_code_execution_tool_result", "content": result},
                {"type": "text", "text": "Two."},
            ],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 4},
        }}});
        insta::assert_snapshot!(written(&line), @r#"{"line":3,"id":"a","status":"succeeded","text":"One.\nTwo.","stop_reason":"end_turn","input_tokens":3,"output_tokens":4,"files":["file_1"]}"#);
    }

    #[test]
    fn an_error_has_its_message() {
        let error = json!({"type": "error", "error": {"type": "a", "message": "no"}});
        let line = json!({"custom_id": "x", "result": {"type": "errored", "error": error}});
        insta::assert_snapshot!(written(&line), @r#"{"line":3,"id":"a","status":"errored","error":"no"}"#);
        let line = json!({"custom_id": "x", "result": {"type": "canceled"}});
        insta::assert_snapshot!(written(&line), @r#"{"line":3,"id":"a","status":"canceled","error":"the request was cancelled"}"#);
        assert_eq!(MessageResult::parse(b"{}"), None);
    }
}
