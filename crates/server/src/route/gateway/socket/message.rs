//! Messages of a client, as bodies of requests.

use prowess_wire::raw::RawObject;
use serde_json::{Map, Value, json};

use super::super::clock::unix_now;
use super::super::conversation::items;

/// A `response.create` message.
pub(super) struct CreateMessage {
    fields: Map<String, Value>,
    /// Whether the response is stored, so that it need not be held in memory.
    pub(super) stores: bool,
    /// Whether to generate a response: without, the connection only records the items so far.
    pub(super) generate: bool,
}

impl CreateMessage {
    /// Parses a message. Errors are returned as the error of an event.
    pub(super) fn parse(text: &str) -> Result<CreateMessage, Value> {
        let message: Result<Map<String, Value>, _> = serde_json::from_str(text);
        let Ok(mut fields) = message else {
            return Err(invalid_request_error(
                "invalid_json",
                "type",
                "a message must be a JSON object",
            ));
        };
        // The map has only the last of several fields of one name.
        let checked = RawObject::parse(text.as_bytes()).and_then(|raw| raw.check_unique());
        if let Err(error) = checked {
            let field = error.field().unwrap_or("type");
            return Err(invalid_request_error(
                error.code(),
                field,
                &error.to_string(),
            ));
        }
        match fields.remove("type") {
            Some(Value::String(kind)) if kind == "response.create" => {}
            other => {
                let what = format!(
                    "Unknown event type {}; only `response.create` is supported.",
                    prowess_wire::excerpt(&other.unwrap_or_default().to_string())
                );
                return Err(invalid_request_error("unknown_event_type", "type", &what));
            }
        }
        if fields.get("background") == Some(&Value::Bool(true)) {
            let what = "background is not supported over WebSocket; remove it";
            return Err(invalid_request_error(
                "unsupported_parameter",
                "background",
                what,
            ));
        }
        for key in ["background", "stream_id", "event_id"] {
            fields.remove(key);
        }
        let generate = fields.remove("generate") != Some(Value::Bool(false));
        fields.insert("stream".to_owned(), true.into());
        Ok(CreateMessage {
            stores: fields.get("store") != Some(&Value::Bool(false)),
            generate,
            fields,
        })
    }

    /// The response that it continues from.
    pub(super) fn previous_response_id(&self) -> Option<&str> {
        self.fields.get("previous_response_id")?.as_str()
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.fields.get("model")?.as_str()
    }

    /// Whether it contains the whole conversation.
    pub(super) fn is_whole(&self) -> bool {
        let names = |key: &str| self.fields.get(key).is_some_and(|value| !value.is_null());
        !names("previous_response_id") && !names("conversation")
    }

    pub(super) fn input(&self) -> &Value {
        self.fields.get("input").unwrap_or(&Value::Null)
    }

    /// Prepends earlier items.
    pub(super) fn with_history(mut self, history: &[Value]) -> CreateMessage {
        let new = input_items(self.input());
        let all: Vec<Value> = history.iter().chain(&new).cloned().collect();
        self.fields
            .insert("input".to_owned(), items::upstream_items(&all).into());
        self.fields.remove("previous_response_id");
        self
    }

    /// The body of the request.
    pub(super) fn body(&self) -> String {
        Value::Object(self.fields.clone()).to_string()
    }

    /// The response to a message with `generate: false`.
    pub(super) fn warm_up_response(&self) -> Value {
        let field_or = |key: &str, default: Value| self.fields.get(key).cloned().unwrap_or(default);
        json!({
            "id": items::new_id("resp"),
            "object": "response",
            "created_at": unix_now(),
            "completed_at": unix_now(),
            "status": "completed",
            "error": null,
            "incomplete_details": null,
            "instructions": field_or("instructions", Value::Null),
            "metadata": field_or("metadata", json!({})),
            "model": field_or("model", Value::Null),
            "output": [],
            "parallel_tool_calls": field_or("parallel_tool_calls", true.into()),
            "previous_response_id": null,
            "store": false,
            "temperature": field_or("temperature", 1.into()),
            "tool_choice": field_or("tool_choice", "auto".into()),
            "tools": field_or("tools", json!([])),
            "top_p": field_or("top_p", 1.into()),
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

/// The error for a message that is not text.
pub(super) fn not_text_error() -> Value {
    invalid_request_error(
        "invalid_message",
        "type",
        "a message must be JSON in a text frame",
    )
}

fn invalid_request_error(code: &str, param: &str, message: &str) -> Value {
    json!({
        "type": "invalid_request_error",
        "code": code,
        "message": message,
        "param": param,
    })
}

/// The items of an `input`: a text, or a list.
pub(super) fn input_items(input: &Value) -> Vec<Value> {
    let text = input.to_string();
    items::parse_input(Some(&text)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(message: Value) -> Result<CreateMessage, Value> {
        CreateMessage::parse(&message.to_string())
    }

    #[test]
    fn a_message_is_a_request_that_is_streamed() {
        let message = json!({
            "type": "response.create", "model": "m", "input": "Hi", "store": false,
            "stream_id": "1", "background": false,
        });
        let create = parse(message).unwrap();
        let body: Value = serde_json::from_str(&create.body()).unwrap();
        let expected = json!({"model": "m", "input": "Hi", "store": false, "stream": true});
        assert_eq!(body, expected);
        assert!(!create.stores && create.generate && create.is_whole());
    }

    #[test]
    fn other_messages_are_refused() {
        assert_eq!(
            CreateMessage::parse("{").err().unwrap()["code"],
            "invalid_json"
        );
        assert_eq!(
            CreateMessage::parse("[]").err().unwrap()["code"],
            "invalid_json"
        );
        let repeated = r#"{"type": "response.create", "model": "m", "mod\u0065l": "n"}"#;
        let refused = CreateMessage::parse(repeated).err().unwrap();
        assert_eq!(
            (&refused["code"], &refused["param"]),
            (&json!("repeated-field"), &json!("model"))
        );
        for (message, param) in [
            (json!({"model": "m"}), "type"),
            (json!({"type": "response.cancel"}), "type"),
            (
                json!({"type": "response.create", "background": true}),
                "background",
            ),
        ] {
            assert_eq!(parse(message).err().unwrap()["param"], param);
        }
    }

    #[test]
    fn earlier_items_come_first() {
        let message = json!({
            "type": "response.create", "input": "And?", "previous_response_id": "resp_1",
        });
        let create = parse(message).unwrap();
        assert_eq!(create.previous_response_id(), Some("resp_1"));
        let before = [json!({"type": "message", "role": "user", "content": "Hi", "id": "msg_1"})];
        let create = create.with_history(&before);
        assert!(create.is_whole());
        assert_eq!(create.input()[0]["content"], "Hi");
        assert_eq!(create.input()[1]["content"][0]["text"], "And?");
    }
}
