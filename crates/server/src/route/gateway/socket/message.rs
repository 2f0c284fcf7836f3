//! What a client sends, as the body of a request.

use serde_json::{Map, Value, json};

use super::super::answer::now;
use super::super::stored::items;

/// A `response.create` message.
pub(super) struct Create {
    fields: Map<String, Value>,
    /// Whether the answer is stored, so that it need not be remembered.
    pub(super) stores: bool,
    /// Whether there is to be an answer: without, the connection only gets to know what was
    /// said so far.
    pub(super) generate: bool,
}

impl Create {
    /// Reads a message. What is wrong with it is given as the error of an event.
    pub(super) fn read(text: &str) -> Result<Create, Value> {
        let message: Result<Map<String, Value>, _> = serde_json::from_str(text);
        let Ok(mut fields) = message else {
            return Err(invalid(
                "invalid_json",
                "type",
                "a message is a JSON object",
            ));
        };
        match fields.remove("type") {
            Some(Value::String(kind)) if kind == "response.create" => {}
            other => {
                let what = format!(
                    "Unknown event type {}; `response.create` is the only one here.",
                    prowess_wire::excerpt(&other.unwrap_or_default().to_string())
                );
                return Err(invalid("unknown_event_type", "type", &what));
            }
        }
        if fields.get("background") == Some(&Value::Bool(true)) {
            let what = "background is not supported over WebSocket; leave it out";
            return Err(invalid("unsupported_parameter", "background", what));
        }
        for key in ["background", "stream_id", "event_id"] {
            fields.remove(key);
        }
        let generate = fields.remove("generate") != Some(Value::Bool(false));
        fields.insert("stream".to_owned(), true.into());
        Ok(Create {
            stores: fields.get("store") != Some(&Value::Bool(false)),
            generate,
            fields,
        })
    }

    /// The answer that it goes on from.
    pub(super) fn previous(&self) -> Option<&str> {
        self.fields.get("previous_response_id")?.as_str()
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.fields.get("model")?.as_str()
    }

    /// Whether all that was said is in it.
    pub(super) fn is_whole(&self) -> bool {
        let names = |key: &str| self.fields.get(key).is_some_and(|value| !value.is_null());
        !names("previous_response_id") && !names("conversation")
    }

    pub(super) fn input(&self) -> &Value {
        self.fields.get("input").unwrap_or(&Value::Null)
    }

    /// The same with what was said before in front.
    pub(super) fn after(mut self, before: &[Value]) -> Create {
        let new = super::items_of(self.input());
        let all: Vec<Value> = before.iter().chain(&new).cloned().collect();
        self.fields
            .insert("input".to_owned(), items::sendable(&all).into());
        self.fields.remove("previous_response_id");
        self
    }

    /// The body of the request.
    pub(super) fn body(&self) -> String {
        Value::Object(self.fields.clone()).to_string()
    }

    /// What is answered where there is to be no answer.
    pub(super) fn warmed_up(&self) -> Value {
        let given = |key: &str, usual: Value| self.fields.get(key).cloned().unwrap_or(usual);
        json!({
            "id": items::new_id("resp"),
            "object": "response",
            "created_at": now(),
            "completed_at": now(),
            "status": "completed",
            "error": null,
            "incomplete_details": null,
            "instructions": given("instructions", Value::Null),
            "metadata": given("metadata", json!({})),
            "model": given("model", Value::Null),
            "output": [],
            "parallel_tool_calls": given("parallel_tool_calls", true.into()),
            "previous_response_id": null,
            "store": false,
            "temperature": given("temperature", 1.into()),
            "tool_choice": given("tool_choice", "auto".into()),
            "tools": given("tools", json!([])),
            "top_p": given("top_p", 1.into()),
            "usage": {
                "input_tokens": 0,
                "input_tokens_details": { "cached_tokens": 0 },
                "output_tokens": 0,
                "output_tokens_details": { "reasoning_tokens": 0 },
                "total_tokens": 0,
            },
        })
    }
}

/// The error for a message that is no text.
pub(super) fn not_text() -> Value {
    invalid(
        "invalid_message",
        "type",
        "a message is JSON in a text frame",
    )
}

fn invalid(code: &str, param: &str, message: &str) -> Value {
    json!({
        "type": "invalid_request_error",
        "code": code,
        "message": message,
        "param": param,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: Value) -> Result<Create, Value> {
        Create::read(&message.to_string())
    }

    #[test]
    fn a_message_is_a_request_that_is_streamed() {
        let message = json!({
            "type": "response.create", "model": "m", "input": "Hi", "store": false,
            "stream_id": "1", "background": false,
        });
        let create = read(message).unwrap();
        let body: Value = serde_json::from_str(&create.body()).unwrap();
        let expected = json!({"model": "m", "input": "Hi", "store": false, "stream": true});
        assert_eq!(body, expected);
        assert!(!create.stores && create.generate && create.is_whole());
    }

    #[test]
    fn other_messages_are_refused() {
        assert_eq!(Create::read("{").err().unwrap()["code"], "invalid_json");
        assert_eq!(Create::read("[]").err().unwrap()["code"], "invalid_json");
        for (message, param) in [
            (json!({"model": "m"}), "type"),
            (json!({"type": "response.cancel"}), "type"),
            (
                json!({"type": "response.create", "background": true}),
                "background",
            ),
        ] {
            assert_eq!(read(message).err().unwrap()["param"], param);
        }
    }

    #[test]
    fn what_was_said_before_comes_first() {
        let message = json!({
            "type": "response.create", "input": "And?", "previous_response_id": "resp_1",
        });
        let create = read(message).unwrap();
        assert_eq!(create.previous(), Some("resp_1"));
        let before = [json!({"type": "message", "role": "user", "content": "Hi", "id": "msg_1"})];
        let create = create.after(&before);
        assert!(create.is_whole());
        assert_eq!(create.input()[0]["content"], "Hi");
        assert_eq!(create.input()[1]["content"][0]["text"], "And?");
    }
}
