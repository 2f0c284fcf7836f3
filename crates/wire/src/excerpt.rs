//! Text from a client, for use in a message: on one line, escaped, truncated.

use std::fmt::{self, Write};

/// Characters of such a text that a message repeats.
const MAX_EXCERPT_CHARS: usize = 100;
/// Characters of a whole message; beyond that only the client's own text can make it long.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// A text's beginning, displayed without anything that could move a cursor or hide.
#[derive(Debug, Clone, Copy)]
pub struct Excerpt<'a>(&'a str);

/// The beginning of a text that a client chose, for a message that repeats it.
pub fn excerpt(text: &str) -> Excerpt<'_> {
    Excerpt(text)
}

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chars = self.0.escape_debug();
        for c in chars.by_ref().take(MAX_EXCERPT_CHARS) {
            f.write_char(c)?;
        }
        match chars.next() {
            Some(_) => f.write_char('…'),
            None => Ok(()),
        }
    }
}

/// A message, truncated when a client's own text made it too long.
pub(crate) fn truncate_message(message: String) -> String {
    // A character has at least one byte, so most messages need not be counted.
    if message.len() <= MAX_MESSAGE_CHARS {
        return message;
    }
    match message.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_stays_and_a_long_one_is_cut_and_escaped() {
        assert_eq!(excerpt("gpt-x").to_string(), "gpt-x");
        assert_eq!(excerpt("a\n\u{202e}b").to_string(), r"a\n\u{202e}b");
        let exact = "x".repeat(MAX_EXCERPT_CHARS);
        assert_eq!(excerpt(&exact).to_string(), exact);
        let long = excerpt(&"ü".repeat(1 << 20)).to_string();
        assert_eq!(long.chars().count(), MAX_EXCERPT_CHARS + 1);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn a_message_has_a_bound() {
        assert_eq!(truncate_message("short".to_owned()), "short");
        assert_eq!(
            truncate_message("ü".repeat(5_000)).chars().count(),
            MAX_MESSAGE_CHARS + 1
        );
    }
}
