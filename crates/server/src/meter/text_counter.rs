//! Counts generated text in the bytes of a stream as they pass.
//!
//! Strings are only located, not parsed: those after the keys with which a dialect streams
//! generated text are measured, in bytes. An escape counts without its backslash.
//!
//! In complete lines only the keys are searched for, each once per chunk: to follow every
//! string took 0.2 µs of the 0.9 µs that an event costs that passes through.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr, memchr3, memrchr};
use prowess_wire::ClientDialect;

/// Length of the longest key.
const MAX_KEY_BYTES: usize = 17;

/// Most keys of a dialect.
const MAX_KEYS: usize = 5;

/// The keys of a dialect's text, each with its quotes and a searcher.
type TextKeys = LazyLock<Vec<Finder<'static>>>;

static MESSAGES_KEYS: TextKeys =
    LazyLock::new(|| find_each(&["\"text\"", "\"thinking\"", "\"partial_json\""]));
static CHAT_KEYS: TextKeys = LazyLock::new(|| {
    find_each(&[
        "\"content\"",
        "\"arguments\"",
        "\"refusal\"",
        "\"reasoning\"",
        "\"reasoning_content\"",
    ])
});
static RESPONSES_KEYS: TextKeys = LazyLock::new(|| find_each(&["\"delta\""]));
static GEMINI_KEYS: TextKeys = LazyLock::new(|| find_each(&["\"text\""]));

fn find_each(keys: &[&'static str]) -> Vec<Finder<'static>> {
    keys.iter().map(|key| Finder::new(*key)).collect()
}

/// Counts the text in a stream.
pub(super) struct TextCounter {
    keys: &'static [Finder<'static>],
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
    /// After a string that is one of the keys, if a colon follows.
    Key,
    /// After the colon of a matching key.
    Value,
    /// In a string of text.
    Text { escaped: bool },
}

impl TextCounter {
    pub(super) fn new(client: ClientDialect) -> TextCounter {
        TextCounter {
            keys: match client {
                ClientDialect::Messages => &MESSAGES_KEYS,
                ClientDialect::Chat => &CHAT_KEYS,
                ClientDialect::Responses => &RESPONSES_KEYS,
                ClientDialect::Gemini => &GEMINI_KEYS,
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
        let mut lines = Lines::new(bytes, self.keys);
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match self.state {
                TextState::Between => match lines.next_key(bytes.len() - rest.len()) {
                    Some(end) => {
                        self.state = TextState::Key;
                        bytes.get(end..).unwrap_or_default()
                    }
                    None => {
                        let after_lines = bytes.get(lines.end..).unwrap_or_default();
                        let last_line = if after_lines.len() < rest.len() {
                            after_lines
                        } else {
                            rest
                        };
                        self.skip_to_string(last_line)
                    }
                },
                TextState::AfterString | TextState::Key | TextState::Value => {
                    self.after_string(rest)
                }
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
            (TextState::Key, b':') => TextState::Value,
            (TextState::AfterString, b':') if self.is_key() => TextState::Value,
            (TextState::Value, b'"') => TextState::Text { escaped: false },
            // Another string may begin with this byte.
            _ => {
                self.state = TextState::Between;
                return bytes;
            }
        };
        rest
    }

    /// Whether the last string is one of the keys.
    fn is_key(&self) -> bool {
        let unquoted = |key: &Finder<'_>| {
            let needle = key.needle();
            needle.get(1..needle.len() - 1) == Some(self.name.as_slice())
        };
        self.keys.iter().any(unquoted)
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

/// The keys in the complete lines of a chunk. No string contains a newline, so a key in
/// quotes cannot begin in an earlier chunk's line, nor be part of another string, where its
/// quotes would be escaped.
struct Lines<'c> {
    bytes: &'c [u8],
    keys: &'static [Finder<'static>],
    /// Where the last line begins, which may be continued in the next chunk.
    end: usize,
    /// Where each key occurs next; none is searched for twice in the same bytes.
    next: [Option<usize>; MAX_KEYS],
}

impl<'c> Lines<'c> {
    fn new(bytes: &'c [u8], keys: &'static [Finder<'static>]) -> Lines<'c> {
        Lines {
            bytes,
            keys,
            end: memrchr(b'\n', bytes).map_or(0, |at| at + 1),
            next: [Some(0); MAX_KEYS],
        }
    }

    /// The end of the next key at or after `from`.
    fn next_key(&mut self, from: usize) -> Option<usize> {
        let mut first: Option<(usize, usize)> = None;
        for (key, next) in self.keys.iter().zip(&mut self.next) {
            let Some(known) = *next else {
                continue;
            };
            // The first time, or if text was skipped that it occurs in.
            if known < from || known == 0 {
                let bytes = self.bytes.get(from..self.end).unwrap_or_default();
                *next = key.find(bytes).map(|at| from + at);
            }
            if let Some(at) = *next
                && first.is_none_or(|(begin, _)| at < begin)
            {
                first = Some((at, at + key.needle().len()));
            }
        }
        first.map(|(_, end)| end)
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
