//! Reads token counts from the bytes of a stream as they pass.
//!
//! The bytes are not parsed: only the key `"usage":` (for Gemini `"usageMetadata":`) is
//! searched for, and the object after it is read. Inside a JSON string its quotes would be
//! escaped, so generated text is never mistaken for it. If the key occurs elsewhere (in a tool
//! schema that a response repeats) it can only raise the count: the highest one counts.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use prowess_wire::ClientDialect;
use prowess_wire::neutral::TokenUsage;

use super::text_counter::TextCounter;

/// Searchers are built once: that takes longer than scanning an event.
static USAGE_KEY: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\"usage\":"));
static GEMINI_USAGE_KEY: LazyLock<Finder<'_>> =
    LazyLock::new(|| Finder::new(b"\"usageMetadata\":"));
static EVENT_PREFIX: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"data:"));
/// Maximum bytes of a usage object. Anthropic lists the counts of each call of a server tool in
/// it.
const MAX_OBJECT_BYTES: usize = 64 << 10;

/// Scans a stream for token counts.
pub(crate) struct UsageScanner {
    client: ClientDialect,
    keys: &'static Finder<'static>,
    state: ScanState,
    usage: Option<TokenUsage>,
    events: u64,
    text: TextCounter,
    /// Bytes of text when the last counts were found.
    counted_text: u64,
}

enum ScanState {
    /// Searching for the key; the last bytes may be its beginning.
    Looking(Vec<u8>),
    /// After the key: the object so far.
    Reading(Object),
}

#[derive(Default)]
struct Object {
    bytes: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl UsageScanner {
    pub(crate) fn new(client: ClientDialect) -> UsageScanner {
        UsageScanner {
            client,
            keys: match client {
                ClientDialect::Messages | ClientDialect::Chat | ClientDialect::Responses => {
                    &USAGE_KEY
                }
                ClientDialect::Gemini => &GEMINI_USAGE_KEY,
            },
            state: ScanState::Looking(Vec::new()),
            usage: None,
            events: 0,
            text: TextCounter::new(client),
            counted_text: 0,
        }
    }

    /// The counts found so far.
    pub(crate) fn usage(&self) -> Option<&TokenUsage> {
        self.usage.as_ref()
    }

    /// Approximate number of events that have passed.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Bytes of text that have passed.
    pub(crate) fn text_bytes(&self) -> u64 {
        self.text.bytes()
    }

    /// Whether text has passed since the last counts, which do not include it.
    pub(crate) fn has_uncounted_text(&self) -> bool {
        self.text.bytes() > self.counted_text
    }

    /// Scans the next bytes.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.events += EVENT_PREFIX.find_iter(chunk).count() as u64;
        let mut rest = chunk;
        while !rest.is_empty() {
            let (before, mut counts) = (rest, None);
            rest = match &mut self.state {
                ScanState::Looking(tail) => match find_key(self.keys, tail, rest) {
                    Some(after) => {
                        self.state = ScanState::Reading(Object::default());
                        after
                    }
                    None => {
                        keep_tail(self.keys.needle().len(), tail, rest);
                        &[]
                    }
                },
                ScanState::Reading(object) => match object.read(rest) {
                    ObjectProgress::More => &[],
                    ObjectProgress::Done(after) => {
                        counts = Some(std::mem::take(&mut object.bytes));
                        self.state = ScanState::Looking(Vec::new());
                        after
                    }
                    ObjectProgress::NotAnObject(after) => {
                        self.state = ScanState::Looking(Vec::new());
                        after
                    }
                },
            };
            // Everything up to the counts: they include the text before them.
            let passed = before.len().saturating_sub(rest.len());
            self.text.push(before.get(..passed).unwrap_or_default());
            if let Some(counts) = counts {
                self.record_counts(&counts);
            }
        }
    }

    fn record_counts(&mut self, object: &[u8]) {
        if let Some(usage) = prowess_wire::read_token_counts(self.client, object) {
            self.counted_text = self.text.bytes();
            let known = self.usage.get_or_insert_default();
            match self.client {
                // Each of its counts covers the whole response so far.
                ClientDialect::Gemini if total_tokens(&usage) >= total_tokens(known) => {
                    *known = usage
                }
                ClientDialect::Gemini => {}
                ClientDialect::Messages | ClientDialect::Chat | ClientDialect::Responses => {
                    known.merge_max(&usage)
                }
            }
        }
    }
}

fn total_tokens(usage: &TokenUsage) -> u64 {
    usage.total_input().saturating_add(usage.output_tokens)
}

/// The bytes after the key, which may begin in the tail of the previous bytes.
fn find_key<'b>(keys: &Finder<'_>, tail: &[u8], bytes: &'b [u8]) -> Option<&'b [u8]> {
    let length = keys.needle().len();
    let head = bytes.get(..length).unwrap_or(bytes);
    let joint = [tail, head].concat();
    if let Some(at) = keys.find(&joint) {
        let end = (at + length).saturating_sub(tail.len());
        return bytes.get(end..);
    }
    let at = keys.find(bytes)?;
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

/// Result of reading an object.
enum ObjectProgress<'b> {
    More,
    /// The object is complete.
    Done(&'b [u8]),
    /// Not an object, or too long to be one of counts.
    NotAnObject(&'b [u8]),
}

impl Object {
    fn read<'b>(&mut self, bytes: &'b [u8]) -> ObjectProgress<'b> {
        for (at, byte) in bytes.iter().enumerate() {
            let started = !self.bytes.is_empty();
            if !started && byte.is_ascii_whitespace() {
                continue;
            }
            if (!started && *byte != b'{') || self.bytes.len() >= MAX_OBJECT_BYTES {
                return ObjectProgress::NotAnObject(bytes.get(at..).unwrap_or_default());
            }
            self.bytes.push(*byte);
            if self.ends_with(*byte) {
                return ObjectProgress::Done(bytes.get(at + 1..).unwrap_or_default());
            }
        }
        ObjectProgress::More
    }

    /// Tracks strings and braces; returns whether this byte closes the object.
    fn ends_with(&mut self, byte: u8) -> bool {
        if std::mem::take(&mut self.escaped) {
            return false;
        }
        match byte {
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            b'{' if !self.in_string => self.depth += 1,
            b'}' if !self.in_string => self.depth -= 1,
            _ => {}
        }
        self.depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANTHROPIC: &str = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":30,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"\\\"usage\\\":{\\\"input_tokens\\\":999}\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"usage\": {\"output_tokens\":10,\"x\":{\"}\":\"\\\"}\"}}}\n\n",
    );
    const CHAT: &str = concat!(
        "data: {\"choices\":[],\"usage\":null}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":30,\"completion_tokens\":10,\"prompt_tokens_details\":{\"cached_tokens\":20}}}\n\n",
        "data: [DONE]\n\n",
    );

    const GEMINI: &str = concat!(
        "data: {\"candidates\":[],\"usageMetadata\":{\"promptTokenCount\":30,\"candidatesTokenCount\":2}}\r\n\r\n",
        "data: {\"usageMetadata\": {\"promptTokenCount\":30,\"candidatesTokenCount\":7,\"thoughtsTokenCount\":3,",
        "\"cachedContentTokenCount\":20,\"promptTokensDetails\":[{\"modality\":\"TEXT\",\"tokenCount\":30}]}}\r\n\r\n",
    );

    fn scan(client: ClientDialect, text: &str, size: usize) -> (u64, u64, u64) {
        let mut scanner = UsageScanner::new(client);
        for chunk in text.as_bytes().chunks(size) {
            scanner.push(chunk);
        }
        let usage = scanner.usage().unwrap();
        (
            usage.input_tokens,
            usage.cache_read_input_tokens,
            usage.output_tokens,
        )
    }

    #[test]
    fn counts_are_found_in_any_cut_of_the_bytes() {
        for size in 1..ANTHROPIC.len() {
            assert_eq!(
                scan(ClientDialect::Messages, ANTHROPIC, size),
                (30, 4, 10),
                "{size}"
            );
        }
        for size in 1..CHAT.len() {
            assert_eq!(
                scan(ClientDialect::Chat, CHAT, size),
                (10, 20, 10),
                "{size}"
            );
        }
        for size in 1..GEMINI.len() {
            assert_eq!(
                scan(ClientDialect::Gemini, GEMINI, size),
                (10, 20, 10),
                "{size}"
            );
        }
        // What a model writes as tool arguments does not lower the count.
        let forged = format!("{GEMINI}data: {{\"args\":{{\"usageMetadata\":{{}}}}}}\n\n");
        assert_eq!(scan(ClientDialect::Gemini, &forged, 7), (10, 20, 10));
    }

    #[test]
    fn text_behind_the_last_counts_is_uncounted_in_any_cut_of_the_bytes() {
        let end = ANTHROPIC.find("data: {\"type\":\"message_delta\"").unwrap();
        let written = r#""usage":{"input_tokens":999}"#.len() as u64;
        for size in 1..=ANTHROPIC.len() {
            let mut scanner = UsageScanner::new(ClientDialect::Messages);
            for chunk in ANTHROPIC.as_bytes()[..end].chunks(size) {
                scanner.push(chunk);
            }
            assert!(scanner.has_uncounted_text(), "{size}");
            assert_eq!(scanner.text_bytes(), written, "{size}");
            for chunk in ANTHROPIC.as_bytes()[end..].chunks(size) {
                scanner.push(chunk);
            }
            assert!(!scanner.has_uncounted_text(), "{size}");
        }
    }

    #[test]
    fn counts_with_a_list_of_many_calls_are_found() {
        let call = r#"{"type":"message","input_tokens":9,"output_tokens":1,"cache_creation":{}}"#;
        let calls = vec![call; 200].join(",");
        let stream = format!(
            "data: {{\"usage\":{{\"input_tokens\":30,\"output_tokens\":10,\"iterations\":[{calls}]}}}}\n\n"
        );
        let found = scan(ClientDialect::Messages, &stream, 1_000);
        assert_eq!(found, (30, 0, 10));
    }

    #[test]
    fn what_is_no_object_of_counts_is_passed_over() {
        let long = format!("\"usage\":{{\"a\":\"{}\"}}", "x".repeat(100_000));
        for text in [
            "\"usage\":",
            "\"usage\":[1]",
            "\"usage\":{",
            &long,
            "\"usage\":{}}",
        ] {
            let mut scanner = UsageScanner::new(ClientDialect::Responses);
            scanner.push(text.as_bytes());
            scanner.push(b" \"usage\":{\"input_tokens\":7}");
            let found = scanner.usage().map(|usage| usage.input_tokens);
            assert!(matches!(found, Some(7) | None), "{text}: {found:?}");
        }
    }
}
