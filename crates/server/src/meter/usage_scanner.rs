//! Reads token counts from the bytes of a stream as they pass.
//!
//! The bytes are not parsed: only the key `"usage":` (for Gemini `"usageMetadata":`) is
//! searched for, and the object after it is read. If the key occurs elsewhere (in a tool
//! schema that a response repeats) it can only raise the count: the highest one counts, and the
//! dearest service tier.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use prowess_wire::ClientDialect;
use prowess_wire::neutral::{ServiceTier, TokenUsage};

use super::details_scanner::DetailsScanner;
use super::keyed_value::KeyedValues;
use super::text_counter::TextCounter;

/// Searchers are built once: that takes longer than scanning an event.
static USAGE_KEY: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\"usage\":"));
static GEMINI_USAGE_KEY: LazyLock<Finder<'_>> =
    LazyLock::new(|| Finder::new(b"\"usageMetadata\":"));
static EVENT_PREFIX: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"data:"));

/// Scans a stream for token counts.
pub(crate) struct UsageScanner {
    client: ClientDialect,
    counts: KeyedValues,
    details: DetailsScanner,
    usage: Option<TokenUsage>,
    events: u64,
    text: TextCounter,
    /// Bytes of text when the last counts were found.
    counted_text: u64,
}

impl UsageScanner {
    pub(crate) fn new(client: ClientDialect) -> UsageScanner {
        let key: &Finder<'_> = match client {
            ClientDialect::Messages | ClientDialect::Chat | ClientDialect::Responses => &USAGE_KEY,
            ClientDialect::Gemini => &GEMINI_USAGE_KEY,
        };
        UsageScanner {
            client,
            counts: KeyedValues::new(key, b'{'),
            details: DetailsScanner::new(client),
            usage: None,
            events: 0,
            text: TextCounter::new(client),
            counted_text: 0,
        }
    }

    /// The counts found so far, with what decides about the cost besides.
    pub(crate) fn usage(&self) -> Option<TokenUsage> {
        let usage = self.usage.clone()?;
        Some(self.with_details(usage))
    }

    /// Estimated counts, with what was found that decides about the cost besides.
    pub(crate) fn with_details(&self, mut usage: TokenUsage) -> TokenUsage {
        self.details.complete(&mut usage);
        usage
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
        self.details.push(chunk);
        let mut rest = chunk;
        while !rest.is_empty() {
            let (counts, after) = self.counts.push(rest);
            // Everything up to the counts: they include the text before them.
            let passed = rest.len().saturating_sub(after.len());
            self.text.push(rest.get(..passed).unwrap_or_default());
            rest = after;
            if let Some(counts) = counts {
                self.record_counts(&counts);
            }
        }
    }

    fn record_counts(&mut self, object: &[u8]) {
        let Some(mut usage) = prowess_wire::read_counts_or_total(self.client, object) else {
            return;
        };
        self.counted_text = self.text.bytes();
        let Some(known) = &mut self.usage else {
            self.usage = Some(usage);
            return;
        };
        usage.set_tier(ServiceTier::dearer(known.tier(), usage.tier()));
        match self.client {
            // Each of its counts covers the whole response so far.
            ClientDialect::Gemini if total_tokens(&usage) >= total_tokens(known) => *known = usage,
            ClientDialect::Gemini => {}
            ClientDialect::Messages | ClientDialect::Chat | ClientDialect::Responses => {
                known.merge_max(&usage)
            }
        }
    }
}

fn total_tokens(usage: &TokenUsage) -> u64 {
    usage.total_input().saturating_add(usage.output_tokens)
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
    fn what_stands_in_content_gives_no_discount() {
        let discount = "data: {\"input\":{\"usage\":{\"service_tier\":\"batch\"}}}\n\n";
        let mut scanner = UsageScanner::new(ClientDialect::Messages);
        scanner.push(format!("{ANTHROPIC}{discount}").as_bytes());
        let usage = scanner.usage().unwrap();
        assert_eq!((usage.input_tokens, usage.tier()), (30, None));
        // From the beginning on it is the response's own.
        let batch = ANTHROPIC.replace("\"usage\":{", "\"usage\":{\"service_tier\":\"batch\",");
        let mut scanner = UsageScanner::new(ClientDialect::Messages);
        scanner.push(batch.as_bytes());
        let tier = scanner.usage().unwrap().tier();
        assert_eq!(tier, Some(ServiceTier::Batch));
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
