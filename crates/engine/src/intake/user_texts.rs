//! What users wrote in a conversation: the tasks that skills are routed by. Results of tools
//! and the words of models are not part of it, nor is what agents put before a user's words in
//! messages of the same role.

use prowess_ranking::{MAX_MENTIONS, mentions};
use prowess_wire::neutral::{Block, Content, Message, Role};

/// Bytes of one text; of a longer one, its start and its end are used.
const MAX_TEXT_BYTES: usize = 4 << 10;
const MAX_END_BYTES: usize = 1 << 10;

/// Starts and ends of what agents (Claude Code, Codex) tell a model in messages of users: their
/// own instructions, and facts about the machine.
const CONTEXT: [(&str, &str); 4] = [
    ("<system-reminder>", "</system-reminder>"),
    ("<environment_context>", "</environment_context>"),
    ("<user_instructions>", "</user_instructions>"),
    ("# AGENTS.md instructions for ", "</INSTRUCTIONS>"),
];

/// The text of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserText {
    /// The place of the message.
    pub(crate) message: usize,
    pub(crate) text: String,
    /// The names of skills that it mentions, wherever in the text that may be.
    pub(crate) mentions: Vec<String>,
}

/// The texts of users, in order.
pub(crate) fn user_texts(messages: &[Message]) -> Vec<UserText> {
    let users = messages.iter().enumerate();
    let users = users.filter(|(_, message)| message.role == Role::User);
    let texts = users.filter_map(|(place, message)| {
        let blocks = message.content.iter().filter_map(block_text);
        let text = blocks.collect::<Vec<_>>().join("\n");
        (!text.trim().is_empty()).then(|| UserText::new(place, &text))
    });
    texts.collect()
}

impl UserText {
    fn new(message: usize, whole: &str) -> Self {
        let text = shorten(whole);
        let mut names: Vec<String> = mentions(&text).into_iter().map(str::to_owned).collect();
        if text.len() < whole.len() {
            // First come those that the rest of what was pasted does not displace.
            for name in mentions(whole) {
                if names.len() < MAX_MENTIONS && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        UserText {
            message,
            text,
            mentions: names,
        }
    }
}

fn block_text(block: &Block) -> Option<&str> {
    match &block.content {
        Content::Text(text) => Some(without_context(text)),
        _ => None,
    }
}

/// A text from where the words of the user begin.
fn without_context(mut text: &str) -> &str {
    loop {
        let rest = text.trim_start();
        let mut known = CONTEXT.iter();
        let after = known.find_map(|(start, end)| {
            let inside = rest.strip_prefix(start)?;
            Some(inside.split_once(end)?.1)
        });
        match after {
            Some(after) => text = after,
            None => return text,
        }
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
    fn what_agents_put_before_the_words_of_users_does_not_count() {
        let messages = [
            Message::user(
                "# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>\n\
                 <environment_context>\n<cwd>/srv</cwd>\n</environment_context>",
            ),
            Message::new(
                Role::User,
                vec![
                    Block::text("<system-reminder>\nToday is Monday.\n</system-reminder>\n"),
                    Block::text("Fill in the form"),
                ],
            ),
            Message::user("What does <system-reminder> mean?"),
            Message::user("<system-reminder> has no end"),
        ];
        let texts = user_texts(&messages);
        let texts = texts.iter().map(|own| (own.message, own.text.trim()));
        assert_eq!(
            texts.collect::<Vec<_>>(),
            [
                (1, "Fill in the form"),
                (2, "What does <system-reminder> mean?"),
                (3, "<system-reminder> has no end"),
            ]
        );
    }

    #[test]
    fn only_what_users_wrote_counts_and_long_texts_are_shortened() {
        let result = Block::tool_result("toolu_1", "a result");
        let long = "ü".repeat(MAX_TEXT_BYTES);
        let long = format!("first {long} /hidden {long} $last");
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
        assert!(long.starts_with("first") && long.ends_with("$last"));
        assert_eq!(texts[1].mentions, ["last", "hidden"]);
    }
}
