//! A conversation as JSON, to be stored and read again unchanged.

use serde_json::{Value, json};

use super::{Message, Role};
use crate::anthropic::{read_block, whole_block};
use crate::error::WireError;
use crate::fields::{JsonFields, list, wrong_value};
use crate::json_path::MESSAGES;

/// Messages as JSON. Fields of a message that no codec understands are dropped.
pub fn conversation_to_json(messages: &[Message]) -> Value {
    let message = |message: &Message| {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
        };
        let content: Vec<Value> = message.content.iter().map(whole_block).collect();
        json!({"role": role, "content": content})
    };
    messages.iter().map(message).collect()
}

/// What [`conversation_to_json`] wrote.
///
/// # Errors
/// When it was written by something else.
pub fn conversation_from_json(kept: Value) -> Result<Vec<Message>, WireError> {
    let mut messages = Vec::new();
    for (i, message) in list(kept, &MESSAGES)?.into_iter().enumerate() {
        let path = &MESSAGES.index(i);
        let mut fields = JsonFields::from_value(message, path)?;
        let role = match fields.string("role")?.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" => Role::System,
            other => return Err(wrong_value(&path.key("role"), "a role", &other.into())),
        };
        let blocks = fields.list("content")?.into_iter().enumerate();
        let content = path.key("content");
        let blocks = blocks.map(|(b, block)| read_block(block, &content.index(b)));
        messages.push(Message::new(role, blocks.collect::<Result<_, _>>()?));
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neutral::{Block, Content};

    #[test]
    fn a_kept_conversation_reads_back_as_it_was() {
        let messages = vec![
            Message::new(
                Role::Assistant,
                vec![
                    Block::new(Content::Thinking {
                        thinking: "hm".to_owned(),
                        signature: "v1.openai.e30=".to_owned(),
                    }),
                    Block::text("Let me see."),
                    Block::tool_use("call_1", "look", json!({"at": "x"})),
                ],
            ),
            Message::new(
                Role::User,
                vec![Block::tool_result("call_1", "nothing there")],
            ),
        ];
        assert_eq!(
            conversation_from_json(conversation_to_json(&messages)).unwrap(),
            messages
        );
        assert!(conversation_from_json(json!([{"role": "poet", "content": []}])).is_err());
    }
}
