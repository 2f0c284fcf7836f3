//! Messages without content, for dialects that refuse them.
//!
//! Clients send empty messages next to tool calls. Anthropic and several Chat servers
//! refuse them, and one between a call and its result separates the two.

use serde_json::Value;

use crate::model_text::BLANK_TEXT;
use crate::neutral::{Content, Message, Role};

/// Why a message is dropped.
pub(crate) const NO_CONTENT: &str = "a message without content";

/// Text that Anthropic treats as empty.
pub(crate) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Removes the messages without content and returns their indexes. A user's message remains
/// where no other turn of the user is next to it: unchanged when `keep` is set and it has
/// some content, otherwise with a placeholder.
pub(crate) fn remove_blank_messages(
    messages: &mut Vec<Value>,
    blank: fn(&str) -> bool,
    keep: bool,
) -> Vec<usize> {
    let given = std::mem::take(messages);
    let mut removed = Vec::new();
    let mut rest = given.into_iter().enumerate().peekable();
    while let Some((at, mut message)) = rest.next() {
        if !is_blank_message(&message, blank) {
            messages.push(message);
            continue;
        }
        let next = rest.peek().map(|(_, next)| next);
        let beside = [messages.last(), next];
        let alone = is_role(&message, "user") && !beside.iter().flatten().any(|m| is_user_side(m));
        if !alone {
            removed.push(at);
            continue;
        }
        let as_it_came = keep && message.get("content").is_some_and(Value::is_string);
        if let (false, Some(map)) = (as_it_came, message.as_object_mut()) {
            map.insert("content".to_owned(), BLANK_TEXT.into());
        }
        messages.push(message);
    }
    removed
}

/// Whether a message belongs to the user's side of the conversation.
fn is_user_side(message: &Value) -> bool {
    is_role(message, "user") || is_role(message, "tool")
}

fn is_role(message: &Value, role: &str) -> bool {
    message.get("role").and_then(Value::as_str) == Some(role)
}

/// Whether a message has neither content nor a substitute, such as calls.
fn is_blank_message(message: &Value, blank: fn(&str) -> bool) -> bool {
    let empty = match message.get("content") {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => blank(text),
        Some(Value::Array(parts)) => parts.iter().all(|part| is_blank_part(part, blank)),
        Some(_) => false,
    };
    let fields = message.as_object().into_iter().flatten();
    let others = fields.filter(|(_, value)| !value.is_null());
    empty
        && !is_role(message, "tool")
        && others
            .into_iter()
            .all(|(key, _)| matches!(key.as_str(), "role" | "content" | "name"))
}

fn is_blank_part(part: &Value, blank: fn(&str) -> bool) -> bool {
    let text = part.get("text").and_then(Value::as_str);
    part.get("type").and_then(Value::as_str) == Some("text") && text.is_some_and(blank)
}

/// The model's last message without trailing whitespace, which Claude rejects there;
/// `None` when there is nothing to trim.
pub(crate) fn without_trailing_space(messages: &[Message]) -> Option<(usize, Message)> {
    let has_content = |message: &Message| {
        let blocks = message.content.iter();
        blocks
            .into_iter()
            .any(|block| !block.as_text().is_some_and(is_blank))
    };
    let at = messages.iter().rposition(has_content)?;
    let last = messages.get(at)?;
    if last.role != Role::Assistant || !ends_with_space(last) {
        return None;
    }
    let mut last = last.clone();
    while let Some(block) = last.content.last_mut() {
        let Content::Text(text) = &mut block.content else {
            break;
        };
        text.truncate(text.trim_end().len());
        if !text.is_empty() {
            break;
        }
        last.content.pop();
    }
    Some((at, last))
}

fn ends_with_space(message: &Message) -> bool {
    let text = message.content.last().and_then(|block| block.as_text());
    text.is_some_and(|text| text.is_empty() || text.ends_with(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::neutral::Block;

    fn settled(messages: Value, keep: bool) -> (Value, Vec<usize>) {
        let Value::Array(mut messages) = messages else {
            return (Value::Null, Vec::new());
        };
        let removed = remove_blank_messages(&mut messages, is_blank, keep);
        (messages.into(), removed)
    }

    #[test]
    fn an_empty_message_is_left_out_where_nothing_needs_it() {
        let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]});
        let result = json!({"role": "tool", "tool_call_id": "c", "content": ""});
        let given = json!([
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": ""},
            call,
            {"role": "user", "content": [{"type": "text", "text": " "}]},
            result,
            {"role": "system", "content": ""},
        ]);
        let kept = json!([{"role": "user", "content": "Go."}, call, result]);
        assert_eq!(settled(given, false), (kept, vec![1, 3, 5]));
    }

    #[test]
    fn a_users_turn_that_has_to_be_there_stays() {
        let answer = json!({"role": "assistant", "content": "Yes?"});
        let given =
            json!([{"role": "user", "content": ""}, {"role": "user", "content": " "}, answer]);
        let blank = json!([{"role": "user", "content": "(blank)"}, answer]);
        assert_eq!(settled(given.clone(), false), (blank, vec![0]));
        let as_it_came = json!([{"role": "user", "content": " "}, answer]);
        assert_eq!(settled(given, true), (as_it_came, vec![0]));
    }

    #[test]
    fn only_whitespace_at_the_end_of_the_models_last_message_is_cut() {
        let answer = |texts: &[&str]| {
            let blocks = texts.iter().map(|text| Block::text(*text));
            Message::new(Role::Assistant, blocks.collect())
        };
        let cut = |messages: &[Message]| without_trailing_space(messages);
        assert_eq!(
            cut(&[Message::user("a"), answer(&["b ", "c \n", " "])]),
            Some((1, answer(&["b ", "c"])))
        );
        assert_eq!(
            cut(&[answer(&["b "]), answer(&[""])]),
            Some((0, answer(&["b"])))
        );
        assert_eq!(cut(&[answer(&["b "]), Message::user("a ")]), None);
        assert_eq!(cut(&[answer(&["b"])]), None);
        assert_eq!(cut(&[]), None);
    }
}
