//! Counts generated text in the bytes of a stream as they pass.
//!
//! Strings are only located, not parsed: those after the keys with which a dialect streams
//! generated text are measured, in bytes. An escape counts without its backslash.

use memchr::{memchr, memchr3};
use prowess_wire::ClientDialect;

/// Length of the longest key.
const MAX_KEY_BYTES: usize = 17;

/// Counts the text in a stream.
pub(super) struct TextCounter {
    keys: &'static [&'static [u8]],
    state: TextState,
    /// The beginning of the last string outside of text.
    name: Vec<u8>,
    bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextState {
    /// Before the next string.
    Between,
    /// In a string that may be a key.
    Name { escaped: bool },
    /// After a string; a colon makes it a key.
    AfterString,
    /// After the colon of a matching key.
    Value,
    /// In a string of text.
    Text { escaped: bool },
}

impl TextCounter {
    pub(super) fn new(client: ClientDialect) -> TextCounter {
        TextCounter {
            keys: match client {
                ClientDialect::Messages => &[b"text", b"thinking", b"partial_json"],
                ClientDialect::Chat => &[
                    b"content",
                    b"arguments",
                    b"refusal",
                    b"reasoning",
                    b"reasoning_content",
                ],
                ClientDialect::Responses => &[b"delta"],
                ClientDialect::Gemini => &[b"text"],
            },
            state: TextState::Between,
            name: Vec::with_capacity(MAX_KEY_BYTES),
            bytes: 0,
        }
    }

    /// Bytes of text so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Scans the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match self.state {
                TextState::Between => self.skip_to_string(rest),
                TextState::AfterString | TextState::Value => self.after_string(rest),
                TextState::Name { escaped } | TextState::Text { escaped } => {
                    self.inside_string(rest, escaped)
                }
            };
        }
    }

    fn skip_to_string<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let Some(at) = memchr(b'"', bytes) else {
            return &[];
        };
        self.name.clear();
        self.state = TextState::Name { escaped: false };
        bytes.get(at + 1..).unwrap_or_default()
    }

    /// Between a string and what follows it.
    fn after_string<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let Some((first, rest)) = bytes.split_first() else {
            return &[];
        };
        self.state = match (self.state, first) {
            (state, b' ' | b'\t') => state,
            (TextState::AfterString, b':') if self.keys.contains(&self.name.as_slice()) => {
                TextState::Value
            }
            (TextState::Value, b'"') => TextState::Text { escaped: false },
            // Another string may begin with this byte.
            _ => {
                self.state = TextState::Between;
                return bytes;
            }
        };
        rest
    }

    /// Inside a string, up to its end or the next escape.
    fn inside_string<'b>(&mut self, bytes: &'b [u8], escaped: bool) -> &'b [u8] {
        let special = if escaped {
            None
        } else {
            memchr3(b'"', b'\\', b'\n', bytes)
        };
        let plain = match (escaped, special) {
            (true, _) => 1,
            (false, found) => found.unwrap_or(bytes.len()),
        };
        let (inside, rest) = bytes.split_at_checked(plain).unwrap_or((bytes, &[]));
        self.count(inside);
        let text = matches!(self.state, TextState::Text { .. });
        let go_on = |escaped| {
            if text {
                TextState::Text { escaped }
            } else {
                TextState::Name { escaped }
            }
        };
        let Some((first, after)) = rest.split_first().filter(|_| special.is_some()) else {
            self.state = go_on(false);
            return rest;
        };
        self.state = match first {
            b'\\' => go_on(true),
            b'"' if !text => TextState::AfterString,
            // No string contains a newline: this was not a string, or it was cut off.
            _ => TextState::Between,
        };
        after
    }

    fn count(&mut self, inside: &[u8]) {
        match self.state {
            TextState::Text { .. } => self.bytes += inside.len() as u64,
            // Of a longer string one more byte is enough to differ from every key.
            _ => {
                let capacity = (MAX_KEY_BYTES + 1).saturating_sub(self.name.len());
                self.name.extend(inside.iter().take(capacity));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"text\"}}\n\n",
        "data: {\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello \\\"text\\\":\\\"x\\\"\"}}\n\n",
        ": a \" that is never closed\n\n",
        "data: {\"delta\":{\"type\":\"thinking_delta\", \"thinking\": \"1234\"}}\n\n",
        "data: {\"delta\":{\"partial_json\":\"{}\",\"text\":null,\"a_longer_name_than_any_text\":\"x\"}}\n\n",
        "data: {\"delta\":{\"type\":\"signature_delta\",\"signature\":\"abcdefghijkl\"}}\n\n",
    );
    const CHAT: &str = concat!(
        "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\\n\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":null,\"reasoning_content\":\"why\"}}]}\n\n",
    );
    const RESPONSES: &str = concat!(
        "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hello\"}\n\n",
        "data: {\"type\":\"response.output_text.done\",\"text\":\"Hello\"}\n\n",
    );

    const GEMINI: &str = concat!(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hello\",\"thought\":true}]}}]}\r\n\r\n",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\": \"you\"}],\"role\":\"model\"}}]}\r\n\r\n",
    );

    #[test]
    fn text_is_measured_in_any_cut_of_the_bytes() {
        let hello = r#"Hello "text":"x""#.len() as u64;
        for (client, stream, expected) in [
            (ClientDialect::Messages, MESSAGES, hello + 4 + 2),
            (ClientDialect::Chat, CHAT, 3 + 2 + 3),
            (ClientDialect::Responses, RESPONSES, 5),
            (ClientDialect::Gemini, GEMINI, 5 + 3),
        ] {
            for size in 1..=stream.len() {
                let mut counter = TextCounter::new(client);
                for chunk in stream.as_bytes().chunks(size) {
                    counter.push(chunk);
                }
                assert_eq!(counter.bytes(), expected, "{client:?} {size}");
            }
        }
    }
}
