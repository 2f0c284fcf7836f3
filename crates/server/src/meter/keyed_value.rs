//! Finds a key in bytes as they pass, and the JSON value after it.
//!
//! The bytes are not parsed: inside a JSON string the quotes of the key would be escaped, so
//! generated text is never mistaken for it.

use memchr::memmem::Finder;

/// Maximum bytes of a value. Anthropic lists the counts of each call of a server tool among its
/// counts.
const MAX_VALUE_BYTES: usize = 64 << 10;

/// Searches for a key, and reads the values after it.
pub(super) struct KeyedValues {
    /// With its quotes and its colon.
    key: &'static Finder<'static>,
    /// The first byte of a value that is read; others are passed over.
    opening: u8,
    state: KeyState,
}

enum KeyState {
    /// Searching for the key; the last bytes may be its beginning.
    Looking(Vec<u8>),
    /// After the key: the value so far.
    Reading(ValueBytes),
}

#[derive(Default)]
struct ValueBytes {
    bytes: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl KeyedValues {
    pub(super) fn new(key: &'static Finder<'static>, opening: u8) -> KeyedValues {
        KeyedValues {
            key,
            opening,
            state: KeyState::Looking(Vec::new()),
        }
    }

    /// Takes bytes up to the end of the key or of a value; returns the value, if it is complete,
    /// and the bytes that were not taken.
    pub(super) fn push<'b>(&mut self, bytes: &'b [u8]) -> (Option<Vec<u8>>, &'b [u8]) {
        match &mut self.state {
            KeyState::Looking(tail) => match find_key(self.key, tail, bytes) {
                Some(after) => {
                    self.state = KeyState::Reading(ValueBytes::default());
                    (None, after)
                }
                None => {
                    keep_tail(self.key.needle().len(), tail, bytes);
                    (None, &[])
                }
            },
            KeyState::Reading(value) => {
                let (complete, after) = match value.read(self.opening, bytes) {
                    ValueProgress::More => return (None, &[]),
                    ValueProgress::Done(after) => (Some(std::mem::take(&mut value.bytes)), after),
                    ValueProgress::Other(after) => (None, after),
                };
                self.state = KeyState::Looking(Vec::new());
                (complete, after)
            }
        }
    }

    /// Takes all bytes, and passes each complete value on.
    pub(super) fn push_all(&mut self, bytes: &[u8], mut on_value: impl FnMut(&[u8])) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (value, after) = self.push(rest);
            if let Some(value) = value {
                on_value(&value);
            }
            rest = after;
        }
    }
}

/// The bytes after the key, which may begin in the tail of the previous bytes. The tail is the same
/// afterwards.
fn find_key<'b>(key: &Finder<'_>, tail: &mut Vec<u8>, bytes: &'b [u8]) -> Option<&'b [u8]> {
    let length = key.needle().len();
    let tail_length = tail.len();
    if tail_length > 0 {
        tail.extend_from_slice(bytes.get(..length).unwrap_or(bytes));
        let found = key.find(tail);
        tail.truncate(tail_length);
        if let Some(at) = found {
            let end = (at + length).saturating_sub(tail_length);
            return bytes.get(end..);
        }
    }
    let at = key.find(bytes)?;
    bytes.get(at + length..)
}

/// Keeps as many last bytes as could be the beginning of the key.
fn keep_tail(length: usize, tail: &mut Vec<u8>, bytes: &[u8]) {
    let keep = length.saturating_sub(1);
    tail.extend_from_slice(
        bytes
            .get(bytes.len().saturating_sub(keep)..)
            .unwrap_or(bytes),
    );
    let over = tail.len().saturating_sub(keep);
    tail.drain(..over);
}

/// Result of reading a value.
enum ValueProgress<'b> {
    More,
    /// The value is complete.
    Done(&'b [u8]),
    /// A value of another type, or too long.
    Other(&'b [u8]),
}

impl ValueBytes {
    fn read<'b>(&mut self, opening: u8, bytes: &'b [u8]) -> ValueProgress<'b> {
        for (at, byte) in bytes.iter().enumerate() {
            let started = !self.bytes.is_empty();
            if !started && byte.is_ascii_whitespace() {
                continue;
            }
            if (!started && *byte != opening) || self.bytes.len() >= MAX_VALUE_BYTES {
                return ValueProgress::Other(bytes.get(at..).unwrap_or_default());
            }
            self.bytes.push(*byte);
            if self.ends_with(*byte) {
                return ValueProgress::Done(bytes.get(at + 1..).unwrap_or_default());
            }
        }
        ValueProgress::More
    }

    /// Tracks strings and brackets; returns whether this byte ends the value.
    fn ends_with(&mut self, byte: u8) -> bool {
        if std::mem::take(&mut self.escaped) {
            return false;
        }
        match byte {
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            b'{' | b'[' if !self.in_string => self.depth += 1,
            b'}' | b']' if !self.in_string => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static KEY: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\"k\":"));

    #[test]
    fn values_of_the_right_type_are_found_in_any_cut_of_the_bytes() {
        let text = r#"{"k": "a\"]}","x":"\"k\":1","k":["]",{"b":[]}] ,"k":{"c":"}\\"},"k":null}"#;
        for (opening, expected) in [
            (b'"', r#""a\"]}""#),
            (b'[', r#"["]",{"b":[]}]"#),
            (b'{', r#"{"c":"}\\"}"#),
        ] {
            for size in 1..=text.len() {
                let mut values = KeyedValues::new(&KEY, opening);
                let mut found = Vec::new();
                for chunk in text.as_bytes().chunks(size) {
                    values.push_all(chunk, |value| {
                        found.push(String::from_utf8(value.to_vec()).unwrap());
                    });
                }
                assert_eq!(found, [expected], "{size}");
            }
        }
    }
}
