//! The order of messages by Perplexity's rules: instructions come first, then the user and the
//! model take turns.

use serde_json::{Value, json};

use super::mistral_order::{make_user_message, role};

/// Makes later instructions tagged text of the user, and one message of several by the same
/// author. Calls and their results stay as they are.
pub(super) fn alternate(messages: &mut Vec<Value>) {
    let mut out: Vec<Value> = Vec::with_capacity(messages.len());
    for mut message in std::mem::take(messages) {
        let has_started = out.last().is_some_and(|last| role(last) != "system");
        if has_started
            && role(&message) == "system"
            && let Some(map) = message.as_object_mut()
        {
            make_user_message(map);
        }
        match out.last_mut() {
            Some(last) if can_join(last, &message) => join(last, message),
            _ => out.push(message),
        }
    }
    *messages = out;
}

/// Whether two messages have the same author, and the second one nothing but its content.
fn can_join(last: &Value, next: &Value) -> bool {
    let is_plain = next.as_object().is_some_and(|fields| {
        let mut keys = fields.keys();
        keys.all(|key| matches!(key.as_str(), "role" | "content"))
    });
    let author = role(next);
    let takes_turns = matches!(author, "user" | "assistant");
    is_plain && takes_turns && role(last) == author && last.get("tool_calls").is_none()
}

fn join(last: &mut Value, mut next: Value) {
    let more = next.get_mut("content").map(Value::take);
    let Some(content) = last.get_mut("content") else {
        return;
    };
    match (content, more.unwrap_or_default()) {
        (Value::String(text), Value::String(more)) => {
            text.push_str("\n\n");
            text.push_str(&more);
        }
        (content, more) => {
            let mut all = parts(content.take());
            all.extend(parts(more));
            *content = all.into();
        }
    }
}

fn parts(content: Value) -> Vec<Value> {
    match content {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(parts) => parts,
        _ => Vec::new(),
    }
}
