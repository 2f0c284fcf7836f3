//! What decides about the cost of a Gemini response besides its tokens.

use serde_json::Value;

use crate::fields::as_whole_number;
use crate::neutral::{PriceDetails, ServiceTier};

/// By the fields of `usageMetadata`.
pub(crate) fn price_details<'v>(field: impl Fn(&str) -> Option<&'v Value>) -> PriceDetails {
    let sound = |list: &str| sound_tokens(field(list));
    let tier = |key: &str| service_tier(field(key)?.as_str()?);
    PriceDetails {
        audio_input_tokens: sound("promptTokensDetails")
            .saturating_sub(sound("cacheTokensDetails")),
        audio_output_tokens: sound("candidatesTokensDetails"),
        // Vertex AI has another name for it.
        tier: tier("serviceTier").or_else(|| tier("trafficType")),
        ..PriceDetails::default()
    }
}

/// How often Google's servers searched the web for a candidate with these sources.
pub(super) fn web_searches(grounding: Option<&Value>) -> u64 {
    let queries = grounding.and_then(|grounding| grounding.get("webSearchQueries"));
    let queries = queries.and_then(Value::as_array).into_iter().flatten();
    // An empty one is not searched for.
    let queries = queries.filter(|query| query.as_str().is_some_and(|query| !query.is_empty()));
    queries.count() as u64
}

/// The tokens of sound in a list of counts by modality.
fn sound_tokens(list: Option<&Value>) -> u64 {
    let counts = list.and_then(Value::as_array).into_iter().flatten();
    let of_sound = |count: &&Value| count.get("modality").and_then(Value::as_str) == Some("AUDIO");
    let counts = counts.filter(of_sound);
    let counts = counts.filter_map(|count| count.get("tokenCount").and_then(as_whole_number));
    counts.fold(0, u64::saturating_add)
}

/// `flex`, `SERVICE_TIER_FLEX` or `ON_DEMAND_FLEX`.
fn service_tier(word: &str) -> Option<ServiceTier> {
    let word = word.to_ascii_lowercase();
    ServiceTier::from_word(word.rsplit('_').next()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sound_tiers_and_searches_are_found_where_google_has_them() {
        let usage = json!({
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9},
                {"modality": "AUDIO", "tokenCount": 50}],
            "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 20}],
            "candidatesTokensDetails": [{"modality": "AUDIO", "tokenCount": 7}],
            "trafficType": "ON_DEMAND_FLEX",
        });
        let details = price_details(|key| usage.get(key));
        let counts = (details.audio_input_tokens, details.audio_output_tokens);
        assert_eq!(counts, (30, 7));
        assert_eq!(details.tier, Some(ServiceTier::Flex));
        for (word, tier) in [
            ("SERVICE_TIER_PRIORITY", Some(ServiceTier::Priority)),
            ("flex", Some(ServiceTier::Flex)),
            ("standard", None),
            ("PROVISIONED_THROUGHPUT", None),
            ("", None),
        ] {
            assert_eq!(service_tier(word), tier, "{word}");
        }
        let grounding = json!({"webSearchQueries": ["weather bern", "", "bern"]});
        assert_eq!(web_searches(Some(&grounding)), 2);
        assert_eq!(web_searches(Some(&json!({"webSearchQueries": 3}))), 0);
        assert_eq!(web_searches(None), 0);
    }
}
