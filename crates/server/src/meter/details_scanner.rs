//! Finds in the bytes of a stream, as they pass, what decides about its cost besides its token
//! counts, where a dialect has that elsewhere: OpenAI's service tier and web searches, and
//! Google's searches. As far as content could contain the same words, they only raise the cost.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr, memmem, memrchr};
use prowess_wire::ClientDialect;
use prowess_wire::neutral::{ServiceTier, TokenUsage};

use super::keyed_value::KeyedValues;

static TIER_KEY: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\"service_tier\":"));
static QUERIES_KEY: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\"webSearchQueries\":"));
/// What is in the line of each finished search.
const SEARCH: &[u8] = b"\"web_search_call\"";
/// A stream of Chat Completions names its tier in each chunk, or never.
const CHAT_TIER_BYTES: usize = 16 << 10;
/// The tier of a response that has not begun, as the request names it.
const UNDECIDED_TIER: &str = "auto";
/// Bytes of a line with a finished search; it has the addresses that were found.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Scans a stream for what decides about its cost.
#[derive(Default)]
pub(super) struct DetailsScanner {
    tiers: Option<KeyedValues>,
    /// How many more bytes are searched for a tier.
    tier_bytes: usize,
    queries: Option<KeyedValues>,
    lines: Option<SearchLines>,
    /// The dearest tier so far.
    tier: Option<Option<ServiceTier>>,
    searches: u64,
}

impl DetailsScanner {
    pub(super) fn new(client: ClientDialect) -> DetailsScanner {
        let tiers = || Some(KeyedValues::new(&TIER_KEY, b'"'));
        match client {
            ClientDialect::Messages => DetailsScanner::default(),
            ClientDialect::Chat => DetailsScanner {
                tiers: tiers(),
                tier_bytes: CHAT_TIER_BYTES,
                ..DetailsScanner::default()
            },
            ClientDialect::Responses => DetailsScanner {
                tiers: tiers(),
                tier_bytes: usize::MAX,
                lines: Some(SearchLines::default()),
                ..DetailsScanner::default()
            },
            ClientDialect::Gemini => DetailsScanner {
                queries: Some(KeyedValues::new(&QUERIES_KEY, b'[')),
                ..DetailsScanner::default()
            },
        }
    }

    /// Scans the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if let Some(tiers) = self.tiers.as_mut().filter(|_| self.tier_bytes > 0) {
            self.tier_bytes = self.tier_bytes.saturating_sub(bytes.len());
            let tier = &mut self.tier;
            tiers.push_all(bytes, |word| note_tier(tier, word));
        }
        if let Some(queries) = &mut self.queries {
            // Of several fragments the last has them all.
            let searches = &mut self.searches;
            queries.push_all(bytes, |list| {
                *searches = prowess_wire::count_search_queries(list).max(*searches);
            });
        }
        if let Some(lines) = &mut self.lines {
            self.searches = self.searches.saturating_add(lines.push(bytes));
        }
    }

    /// Adds what was found to counts.
    pub(super) fn complete(&self, usage: &mut TokenUsage) {
        if let Some(tier) = self.tier {
            usage.set_tier(tier);
        }
        let unfinished = self.lines.as_ref().map_or(0, SearchLines::unfinished);
        usage.set_web_searches(self.searches.saturating_add(unfinished));
    }
}

fn note_tier(known: &mut Option<Option<ServiceTier>>, word: &[u8]) {
    let word: Option<String> = serde_json::from_slice(word).ok();
    let Some(word) = word.filter(|word| word != UNDECIDED_TIER) else {
        return;
    };
    let tier = ServiceTier::from_word(&word);
    *known = Some(known.map_or(tier, |known| ServiceTier::dearer(known, tier)));
}

/// The lines of a stream of Responses, in which each search ends once.
#[derive(Default)]
struct SearchLines {
    /// The beginning of the last line.
    line: Vec<u8>,
    /// Whether that line is too long.
    is_long: bool,
}

impl SearchLines {
    /// Takes bytes; returns how many searches have ended in them.
    fn push(&mut self, bytes: &[u8]) -> u64 {
        let Some(last) = memrchr(b'\n', bytes) else {
            self.keep(bytes);
            return 0;
        };
        let (mut lines, tail) = bytes.split_at_checked(last + 1).unwrap_or((bytes, &[]));
        let mut searches = 0;
        if (self.is_long || !self.line.is_empty())
            && let Some(end) = memchr(b'\n', lines)
        {
            let (first, others) = lines.split_at_checked(end).unwrap_or((lines, &[]));
            self.keep(first);
            searches += self.unfinished();
            self.line.clear();
            self.is_long = false;
            lines = others;
        }
        if memmem::find(lines, SEARCH).is_some() {
            let each = lines.split(|byte| *byte == b'\n');
            searches += each.map(count_in_line).sum::<u64>();
        }
        self.keep(tail);
        searches
    }

    /// The searches that end in the last line, if it is complete without its end.
    fn unfinished(&self) -> u64 {
        match self.is_long {
            true => 0,
            false => count_in_line(&self.line),
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.is_long |= self.line.len() + bytes.len() > MAX_LINE_BYTES;
        match self.is_long {
            true => self.line.clear(),
            false => self.line.extend_from_slice(bytes),
        }
    }
}

fn count_in_line(line: &[u8]) -> u64 {
    prowess_wire::count_web_searches(line.strip_prefix(b"data:").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tier and the searches in a stream that comes in chunks of this size.
    fn scan(client: ClientDialect, text: &str, size: usize) -> (Option<ServiceTier>, u64) {
        let mut scanner = DetailsScanner::new(client);
        for chunk in text.as_bytes().chunks(size) {
            scanner.push(chunk);
        }
        let mut usage = TokenUsage::default();
        scanner.complete(&mut usage);
        let details = usage.details.unwrap_or_default();
        (details.tier, details.web_searches)
    }

    fn search(kind: &str, action: &str) -> String {
        format!(
            "event: {kind}\ndata: {{\"type\":\"{kind}\",\"item\":{{\"id\":\"ws_1\",\
             \"type\":\"web_search_call\",\"action\":{{\"type\":\"{action}\"}}}}}}\r\n\r\n"
        )
    }

    #[test]
    fn tiers_and_searches_of_responses_are_found_in_any_cut_of_the_bytes() {
        let created =
            "data: {\"type\":\"response.created\",\"response\":{\"service_tier\":\"auto\"}}\n\n";
        let last = "data: {\"type\":\"response.completed\",\"response\":{\"output\":[\
             {\"type\":\"web_search_call\",\"action\":{\"type\":\"search\"}}],\
             \"service_tier\": \"flex\"}}\n\n";
        let stream = [
            created,
            &search("response.output_item.added", "search"),
            &search("response.output_item.done", "search"),
            &search("response.output_item.done", "open_page"),
            &search("response.output_item.done", "search"),
            last,
        ]
        .concat();
        for size in 1..=stream.len() {
            let found = scan(ClientDialect::Responses, &stream, size);
            assert_eq!(found, (Some(ServiceTier::Flex), 2), "{size}");
        }
        // What a client sends and a response repeats gives no discount.
        let metadata =
            "data: {\"metadata\":{\"service_tier\":\"flex\"},\"service_tier\":\"default\"}\n\n";
        assert_eq!(scan(ClientDialect::Responses, metadata, 9), (None, 0));
        let long = format!("{}{stream}", "x".repeat(2 * MAX_LINE_BYTES));
        let found = scan(ClientDialect::Responses, &long, 1_000);
        assert_eq!(found, (Some(ServiceTier::Flex), 2));
    }

    #[test]
    fn the_tier_of_chat_is_found_at_the_beginning_and_not_searched_for_ever() {
        let chunk = "data: {\"id\":\"c\",\"service_tier\":\"priority\",\"choices\":[]}\n\n";
        for size in 1..=chunk.len() {
            let found = scan(ClientDialect::Chat, chunk, size);
            assert_eq!(found, (Some(ServiceTier::Priority), 0), "{size}");
        }
        // The bytes in which the limit is reached are searched to their end.
        let late = format!("{}{chunk}", "x".repeat(CHAT_TIER_BYTES + 1_000));
        assert_eq!(scan(ClientDialect::Chat, &late, 1_000), (None, 0));
    }

    #[test]
    fn searches_of_google_are_those_of_the_longest_list() {
        let stream = "data: {\"groundingMetadata\":{\"webSearchQueries\":[\"a\"]}}\r\n\r\n\
             data: {\"groundingMetadata\":{\"webSearchQueries\": [\"a\",\"b]\",\"\"]}}\r\n\r\n";
        for size in 1..=stream.len() {
            assert_eq!(scan(ClientDialect::Gemini, stream, size), (None, 2));
        }
    }
}
