//! What users wrote in a conversation: the tasks that skills are routed by. Results of tools
//! and the words of models are not part of it.

use prowess_wire::neutral::{Block, Content, Message, Role};

/// Bytes of one text; of a longer one, its start and its end are used.
const MAX_TEXT_BYTES: usize = 4 << 10;
const MAX_END_BYTES: usize = 1 << 10;

/// The text of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserText {
    /// The place of the message.
    pub(crate) message: usize,
    pub(crate) text: String,
}

/// The texts of users, in order.
pub(crate) fn user_texts(messages: &[Message]) -> Vec<UserText> {
    let users = messages.iter().enumerate();
    let users = users.filter(|(_, message)| message.role == Role::User);
    let texts = users.filter_map(|(place, message)| {
        let blocks = message.content.iter().filter_map(block_text);
        let text = blocks.collect::<Vec<_>>().join("\n");
        (!text.trim().is_empty()).then(|| UserText {
            message: place,
            text: shorten(&text),
        })
    });
    texts.collect()
}

fn block_text(block: &Block) -> Option<&str> {
    match &block.content {
        Content::Text(text) => Some(text),
        _ => None,
    }
}

fn shorten(text: &str) -> String {
    if text.len() <= MAX_TEXT_BYTES {
        return text.to_owned();
    }
    let start = text.floor_char_boundary(MAX_TEXT_BYTES - MAX_END_BYTES - 1);
    let end = text.ceil_char_boundary(text.len() - MAX_END_BYTES);
    let part = |part: Option<&str>| part.unwrap_or_default().to_owned();
    part(text.get(..start)) + "\n" + &part(text.get(end..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_users_wrote_counts_and_long_texts_are_shortened() {
        let result = Block::tool_result("toolu_1", "a result");
        let long = format!("first{}last", "ü".repeat(MAX_TEXT_BYTES));
        let messages = [
            Message::new(Role::System, vec![Block::text("system")]),
            Message::user("one"),
            Message::new(Role::Assistant, vec![Block::text("answer")]),
            Message::new(Role::User, vec![result.clone()]),
            Message::new(Role::User, vec![result, Block::text(long)]),
        ];
        let texts = user_texts(&messages);
        assert_eq!(texts.len(), 2);
        assert_eq!((texts[0].message, texts[0].text.as_str()), (1, "one"));
        let long = &texts[1].text;
        assert!(long.len() <= MAX_TEXT_BYTES, "{}", long.len());
        assert!(long.starts_with("first") && long.ends_with("last"));
    }
}
