//! What decides about the cost of a response that is passed through, besides its token counts:
//! read from a whole response, of which nothing is parsed that cannot have any of it.

use memchr::memmem;
use serde::Deserialize;

use crate::ClientDialect;
use crate::neutral::{ServiceTier, TokenUsage};
use crate::{raw, responses};

/// OpenAI's words for service tiers that have a price of their own, in a response.
const TIERS: [&str; 3] = ["\"batch\"", "\"flex\"", "\"priority\""];

/// Adds it to the counts of a whole response in a client's dialect. Anthropic has all of it among
/// the counts.
pub fn add_price_details(client: ClientDialect, body: &[u8], usage: &mut TokenUsage) {
    match client {
        ClientDialect::Messages => {}
        ClientDialect::Chat => usage.set_tier(openai_tier(body)),
        ClientDialect::Responses => {
            usage.set_tier(openai_tier(body));
            usage.set_web_searches(responses::count_web_searches(body));
        }
        ClientDialect::Gemini => usage.set_web_searches(google_searches(body)),
    }
}

/// How often Google's servers searched the web, by the list of queries in a response.
pub fn count_search_queries(queries: &[u8]) -> u64 {
    let queries: Vec<String> = serde_json::from_slice(queries).unwrap_or_default();
    let queries = queries.iter().filter(|query| !query.is_empty());
    queries.count() as u64
}

/// OpenAI has the tier beside the counts. Nearly every response has the usual one.
fn openai_tier(body: &[u8]) -> Option<ServiceTier> {
    let is_there = |word: &str| memmem::find(body, word.as_bytes()).is_some();
    if !TIERS.into_iter().any(is_there) {
        return None;
    }
    let tier = raw::field(body, "service_tier").ok()??;
    ServiceTier::from_word(tier.trim_matches('"'))
}

fn google_searches(body: &[u8]) -> u64 {
    if memmem::find(body, b"\"webSearchQueries\"").is_none() {
        return 0;
    }
    let Ok(response) = serde_json::from_slice::<GroundedJson>(body) else {
        return 0;
    };
    let candidates = response.candidates.into_iter().flatten();
    let groundings = candidates.filter_map(|candidate| candidate.grounding);
    let queries = groundings.filter_map(|grounding| grounding.queries);
    let queries = queries.flatten().filter(|query| !query.is_empty());
    queries.count() as u64
}

#[derive(Deserialize)]
struct GroundedJson {
    #[serde(default)]
    candidates: Option<Vec<CandidateJson>>,
}

#[derive(Deserialize)]
struct CandidateJson {
    #[serde(default, rename = "groundingMetadata")]
    grounding: Option<GroundingJson>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GroundingJson {
    #[serde(rename = "webSearchQueries")]
    queries: Option<Vec<String>>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Dialect, ReadContext, read_response};

    /// Tier and searches of a response that passes, and of one that is read.
    fn both(client: ClientDialect, body: &Value) -> [(Option<ServiceTier>, u64); 2] {
        let text = body.to_string();
        let mut passed = TokenUsage::default();
        add_price_details(client, text.as_bytes(), &mut passed);
        let dialect = Dialect::from(client);
        let read = read_response(dialect, text.as_bytes(), &ReadContext::default()).unwrap();
        [passed, read.usage].map(|usage| {
            let details = usage.details.unwrap_or_default();
            (details.tier, details.web_searches)
        })
    }

    #[test]
    fn tier_and_searches_of_a_response_that_passes_are_those_of_one_that_is_read() {
        let message = json!({"role": "assistant", "content": "\"priority\""});
        let choices = json!([{"index": 0, "message": message, "finish_reason": "stop"}]);
        let search = json!({"id": "ws_1", "type": "web_search_call", "status": "completed",
            "action": {"type": "search", "query": "bern"}});
        let parts = json!([{"text": "Sunny."}]);
        let grounding = json!({"webSearchQueries": ["weather", "bern", ""]});
        let none = json!({"webSearchQueries": null});
        for (client, body, expected) in [
            (
                ClientDialect::Chat,
                json!({"id": "c1", "model": "m", "choices": choices, "service_tier": "flex"}),
                (Some(ServiceTier::Flex), 0),
            ),
            (
                ClientDialect::Chat,
                json!({"id": "c1", "model": "m", "choices": choices, "service_tier": "default",
                    "metadata": {"service_tier": "flex"}}),
                (None, 0),
            ),
            (
                ClientDialect::Responses,
                json!({"id": "resp_1", "model": "m", "status": "completed",
                    "service_tier": "priority", "output": [search, search]}),
                (Some(ServiceTier::Priority), 2),
            ),
            (
                ClientDialect::Gemini,
                json!({"candidates": [{"content": {"role": "model", "parts": parts},
                    "finishReason": "STOP", "groundingMetadata": grounding}]}),
                (None, 2),
            ),
            (
                ClientDialect::Gemini,
                json!({"candidates": [
                    {"content": {"role": "model", "parts": parts}, "finishReason": "STOP",
                        "groundingMetadata": grounding},
                    {"index": 1, "groundingMetadata": none},
                ]}),
                (None, 2),
            ),
        ] {
            assert_eq!(both(client, &body), [expected; 2], "{body}");
        }
    }

    #[test]
    fn what_is_no_list_of_queries_counts_for_nothing() {
        assert_eq!(count_search_queries(br#"["a","","b"]"#), 2);
        for other in [&b"[1]"[..], b"{}", b"", b"["] {
            assert_eq!(count_search_queries(other), 0);
        }
    }
}
