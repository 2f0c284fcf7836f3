//! How much a model has written so far, from the bytes of a stream as they pass.
//!
//! Only strings are told apart, not parsed: those behind the keys by which a dialect
//! streams what a model writes are measured, in bytes. An escape counts without its
//! backslash.

use memchr::{memchr, memchr3};
use prowess_wire::Client;

/// Bytes of the longest key that is looked for.
const MAX_KEY: usize = 17;

/// Measures the text in a stream.
pub(super) struct TextCounter {
    keys: &'static [&'static [u8]],
    state: State,
    /// The beginning of the last string outside of text.
    name: Vec<u8>,
    bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// For the next string.
    Between,
    /// In a string, which may be a key.
    Name { escaped: bool },
    /// Behind a string; a colon makes it a key.
    Named,
    /// Behind the colon of a key that is looked for.
    Value,
    /// In a string of text.
    Text { escaped: bool },
}

impl TextCounter {
    pub(super) fn new(client: Client) -> TextCounter {
        TextCounter {
            keys: match client {
                Client::Messages => &[b"text", b"thinking", b"partial_json"],
                Client::Chat => &[
                    b"content",
                    b"arguments",
                    b"refusal",
                    b"reasoning",
                    b"reasoning_content",
                ],
                Client::Responses => &[b"delta"],
                Client::Gemini => &[b"text"],
            },
            state: State::Between,
            name: Vec::with_capacity(MAX_KEY),
            bytes: 0,
        }
    }

    /// Bytes of text so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Looks through the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match self.state {
                State::Between => self.between(rest),
                State::Named | State::Value => self.behind(rest),
                State::Name { escaped } | State::Text { escaped } => self.within(rest, escaped),
            };
        }
    }

    fn between<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let Some(at) = memchr(b'"', bytes) else {
            return &[];
        };
        self.name.clear();
        self.state = State::Name { escaped: false };
        bytes.get(at + 1..).unwrap_or_default()
    }

    /// Between a string and what belongs to it.
    fn behind<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let Some((first, rest)) = bytes.split_first() else {
            return &[];
        };
        self.state = match (self.state, first) {
            (state, b' ' | b'\t') => state,
            (State::Named, b':') if self.keys.contains(&self.name.as_slice()) => State::Value,
            (State::Value, b'"') => State::Text { escaped: false },
            // Another string may begin with this byte.
            _ => {
                self.state = State::Between;
                return bytes;
            }
        };
        rest
    }

    /// Within a string, up to its end or the next escape.
    fn within<'b>(&mut self, bytes: &'b [u8], escaped: bool) -> &'b [u8] {
        let special = match escaped {
            true => None,
            false => memchr3(b'"', b'\\', b'\n', bytes),
        };
        let plain = match (escaped, special) {
            (true, _) => 1,
            (false, found) => found.unwrap_or(bytes.len()),
        };
        let (inside, rest) = bytes.split_at_checked(plain).unwrap_or((bytes, &[]));
        self.note(inside);
        let text = matches!(self.state, State::Text { .. });
        let go_on = |escaped| match text {
            true => State::Text { escaped },
            false => State::Name { escaped },
        };
        let Some((first, after)) = rest.split_first().filter(|_| special.is_some()) else {
            self.state = go_on(false);
            return rest;
        };
        self.state = match first {
            b'\\' => go_on(true),
            b'"' if !text => State::Named,
            // No string has a line's end in it: this was none, or was cut off.
            _ => State::Between,
        };
        after
    }

    fn note(&mut self, inside: &[u8]) {
        match self.state {
            State::Text { .. } => self.bytes += inside.len() as u64,
            // Of a longer one a byte more is enough to tell it from every key.
            _ => {
                let room = (MAX_KEY + 1).saturating_sub(self.name.len());
                self.name.extend(inside.iter().take(room));
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
            (Client::Messages, MESSAGES, hello + 4 + 2),
            (Client::Chat, CHAT, 3 + 2 + 3),
            (Client::Responses, RESPONSES, 5),
            (Client::Gemini, GEMINI, 5 + 3),
        ] {
            for size in 1..=stream.len() {
                let mut counter = TextCounter::new(client);
                for piece in stream.as_bytes().chunks(size) {
                    counter.push(piece);
                }
                assert_eq!(counter.bytes(), expected, "{client:?} {size}");
            }
        }
    }
}
