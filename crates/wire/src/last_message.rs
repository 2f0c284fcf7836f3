//! The end of a conversation. OpenAI's and Google's clients may end one with a message of the
//! model, after which the model speaks again. Newer models of Anthropic refuse that, older ones
//! when they think; so the user asks them to go on. Anthropic's own clients get its error.

use serde_json::{Value, json};

use crate::Dialect;
use crate::context::WriteOptions;
use crate::model_text::CONTINUE;
use crate::models::ThinkingModes;

/// Appends a user's message where a conversation must not end with the model.
pub(crate) fn append_closing_message(
    upstream: Dialect,
    client: Dialect,
    options: &WriteOptions,
    body: &mut Value,
) {
    let content = match upstream {
        _ if upstream == client || client == Dialect::Messages => return,
        Dialect::Messages => json!(CONTINUE),
        Dialect::Converse => json!([{"text": CONTINUE}]),
        Dialect::Chat | Dialect::Responses | Dialect::Gemini => return,
    };
    if may_end_with_model(options) && !thinks(body) {
        return;
    }
    let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) else {
        return;
    };
    if ends_with_text_of_model(messages) {
        messages.push(json!({"role": "user", "content": content}));
    }
}

/// Up to 4.5 they continue a message of the model.
fn may_end_with_model(options: &WriteOptions) -> bool {
    !matches!(
        options.capabilities.thinking,
        ThinkingModes::BudgetOrAdaptive | ThinkingModes::Adaptive(_)
    )
}

fn thinks(body: &Value) -> bool {
    let settings = body.get("additionalModelRequestFields").unwrap_or(body);
    let kind = settings
        .get("thinking")
        .and_then(|thinking| thinking.get("type"));
    matches!(kind.and_then(Value::as_str), Some("enabled" | "adaptive"))
}

/// Whether the model's turn is last, and waits for no result. One with calls of Anthropic's
/// servers may be paused: the model goes on with it.
fn ends_with_text_of_model(messages: &[Value]) -> bool {
    let is_of_model =
        |message: &&Value| message.get("role").and_then(Value::as_str) == Some("assistant");
    let mut turn = messages.iter().rev().take_while(is_of_model).peekable();
    turn.peek().is_some() && !turn.any(has_calls)
}

fn has_calls(message: &Value) -> bool {
    let is_call = |block: &Value| {
        let kind = block.get("type").and_then(Value::as_str);
        block.get("toolUse").is_some() || kind.is_some_and(|kind| kind.ends_with("tool_use"))
    };
    let blocks = message.get("content").and_then(Value::as_array);
    blocks.into_iter().flatten().any(is_call)
}
