//! The order of messages by Mistral's rules: after results only the model speaks,
//! instructions follow neither results nor the model, and a message of the model at the end
//! is marked as the beginning of the response.

use serde_json::{Value, json};

use crate::model_text::{RESULTS_READ, tagged_system};
use crate::neutral::Map;

/// Puts a short message of the model between results and the user, makes instructions after
/// results or the model tagged text of the user, and marks a last message of the model.
pub(super) fn follow_mistral_order(messages: &mut Vec<Value>) {
    let mut out: Vec<Value> = Vec::with_capacity(messages.len());
    for mut message in std::mem::take(messages) {
        let previous = out.last().map(role).unwrap_or_default().to_owned();
        if role(&message) == "system"
            && matches!(previous.as_str(), "assistant" | "tool")
            && let Some(map) = message.as_object_mut()
        {
            make_user_message(map);
        }
        if previous == "tool" && role(&message) == "user" {
            out.push(json!({"role": "assistant", "content": RESULTS_READ}));
        }
        out.push(message);
    }
    mark_prefix(&mut out);
    *messages = out;
}

/// Mistral refuses a conversation that ends with the model, unless the response goes on from
/// there.
fn mark_prefix(messages: &mut [Value]) {
    if let Some(last) = messages.last_mut()
        && role(last) == "assistant"
        && let Some(map) = last.as_object_mut()
        && !map.contains_key("tool_calls")
    {
        map.entry("prefix").or_insert(Value::Bool(true));
    }
}

pub(super) fn role(message: &Value) -> &str {
    let role = message.get("role").and_then(Value::as_str);
    role.unwrap_or_default()
}

pub(super) fn make_user_message(message: &mut Map) {
    message.insert("role".to_owned(), "user".into());
    match message.get_mut("content") {
        Some(Value::String(text)) => *text = tagged_system(text),
        Some(Value::Array(parts)) => {
            for part in parts {
                if let Some(Value::String(text)) = part.get_mut("text") {
                    *text = tagged_system(text);
                }
            }
        }
        _ => {}
    }
}
