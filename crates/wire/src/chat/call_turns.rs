//! Keeps the calls of one turn in one message: Chat servers want the results of a message's calls
//! directly after it, so calls in several messages in a row have no place for theirs.

use std::borrow::Cow;

use crate::neutral::{Block, Content, Message, Role};

/// The conversation with messages of the model joined where calls are still without results.
pub(super) fn join_calls(messages: Cow<'_, [Message]>) -> Cow<'_, [Message]> {
    let is_split = |pair: &[Message]| matches!(pair, [first, next] if belongs(next, first));
    if !messages.windows(2).any(is_split) {
        return messages;
    }
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages.into_owned() {
        match out.last_mut() {
            Some(last) if belongs(&message, last) => last.join(message),
            _ => out.push(message),
        }
    }
    Cow::Owned(out)
}

/// Whether a message goes on with the calls of the one before.
fn belongs(message: &Message, before: &Message) -> bool {
    let is_call = |block: &Block| matches!(block.content, Content::ToolUse { .. });
    message.role == Role::Assistant
        && before.role == Role::Assistant
        && before.content.iter().any(is_call)
        && before.can_join(message)
}
