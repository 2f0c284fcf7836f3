//! The order of messages by Mistral's rules: after results only the model speaks, and
//! instructions follow neither results nor the model.

use serde_json::{Value, json};

use crate::model_text::{RESULTS_READ, tagged_system};
use crate::neutral::Map;

/// Puts a short message of the model between results and the user, and makes instructions
/// after results or the model tagged text of the user.
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
    *messages = out;
}

fn role(message: &Value) -> &str {
    let role = message.get("role").and_then(Value::as_str);
    role.unwrap_or_default()
}

fn make_user_message(message: &mut Map) {
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
