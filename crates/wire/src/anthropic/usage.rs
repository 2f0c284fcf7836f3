//! Anthropic's token counts, both ways.

use serde_json::{Value, json};

use crate::error::WireError;
use crate::fields::{JsonFields, as_whole_number};
use crate::json_path::JsonPath;
use crate::neutral::{Map, PriceDetails, ServiceTier, TokenUsage, without_dialect_fields};

pub(crate) fn read_usage(value: Value, path: &JsonPath<'_>) -> Result<TokenUsage, WireError> {
    let mut usage = TokenUsage::default();
    update_usage(&mut usage, value, path)?;
    Ok(usage)
}

/// Merges a later, cumulative count of the same message: a count that is present replaces
/// the earlier one, even with zero; one that is absent does not. Output does not decrease:
/// some servers count it at the start only, and send 0 at the end.
pub(crate) fn update_usage(
    usage: &mut TokenUsage,
    later: Value,
    path: &JsonPath<'_>,
) -> Result<(), WireError> {
    let mut fields = JsonFields::from_value(later, path)?;
    for (name, count) in [
        ("input_tokens", &mut usage.input_tokens),
        ("output_tokens", &mut usage.output_tokens),
        (
            "cache_read_input_tokens",
            &mut usage.cache_read_input_tokens,
        ),
        (
            "cache_creation_input_tokens",
            &mut usage.cache_creation_input_tokens,
        ),
    ] {
        if let Some(later) = fields.opt_u64(name)? {
            *count = match name {
                "output_tokens" => later.max(*count),
                _ => later,
            };
        }
    }
    if let Some(details) = fields.take("output_tokens_details") {
        let path = path.key("output_tokens_details");
        let thoughts = JsonFields::from_value(details, &path)?.opt_u64("thinking_tokens")?;
        usage.thinking_tokens = thoughts.unwrap_or(usage.thinking_tokens);
    }
    usage.rest.extend(fields.rest());
    let details = price_details(|key| usage.rest.get(key));
    usage.details = details.into_option();
    Ok(())
}

/// What decides about the cost besides the tokens, by the fields of a usage object. Those of the
/// advisor tool are tokens of another model, which Anthropic has only in the list of its
/// iterations.
pub(crate) fn price_details<'v>(field: impl Fn(&str) -> Option<&'v Value>) -> PriceDetails {
    let inside = |object: &str, key: &str| field(object)?.get(key).and_then(as_whole_number);
    let word = |key: &str| field(key).and_then(Value::as_str);
    let tier = match word("speed") {
        Some("fast") => Some(ServiceTier::Fast),
        // Anthropic's priority is capacity that was paid for before, and has no price per token.
        _ => word("service_tier")
            .and_then(ServiceTier::from_word)
            .filter(|tier| *tier != ServiceTier::Priority),
    };
    let mut details = PriceDetails {
        cache_creation_1h_tokens: inside(CACHE_CREATION, HOUR_TOKENS).unwrap_or(0),
        web_searches: inside("server_tool_use", "web_search_requests").unwrap_or(0),
        tier,
        in_us_only: word("inference_geo") == Some("us"),
        ..PriceDetails::default()
    };
    for item in iterations(field("iterations"), "advisor_message") {
        if let Some(model) = item.get("model").and_then(Value::as_str) {
            details.add_other_model(model, &iteration_usage(item));
        }
    }
    details
}

/// Where the input that was written to a cache is counted by the time that it stays there.
const CACHE_CREATION: &str = "cache_creation";
const HOUR_TOKENS: &str = "ephemeral_1h_input_tokens";

/// The iterations of a kind.
fn iterations<'v>(list: Option<&'v Value>, kind: &'static str) -> impl Iterator<Item = &'v Value> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter(move |item| item.get("type").and_then(Value::as_str) == Some(kind))
}

/// What one iteration used.
fn iteration_usage(item: &Value) -> TokenUsage {
    let count = |object: &Value, key: &str| object.get(key).and_then(as_whole_number).unwrap_or(0);
    let written = item.get(CACHE_CREATION);
    let details = PriceDetails {
        cache_creation_1h_tokens: written.map_or(0, |written| count(written, HOUR_TOKENS)),
        ..PriceDetails::default()
    };
    TokenUsage {
        input_tokens: count(item, "input_tokens"),
        output_tokens: count(item, "output_tokens"),
        cache_read_input_tokens: count(item, "cache_read_input_tokens"),
        cache_creation_input_tokens: count(item, "cache_creation_input_tokens"),
        details: details.into_option(),
        ..TokenUsage::default()
    }
}

/// The counts with those of compactions of the conversation, which Anthropic charges, but has
/// only in the list of its iterations.
pub(crate) fn with_compactions(usage: &TokenUsage) -> TokenUsage {
    let mut usage = usage.clone();
    let compactions = compactions(usage.rest.get("iterations"));
    usage.add(&compactions);
    usage
}

/// What the compactions in a list of iterations used.
pub(crate) fn compactions(list: Option<&Value>) -> TokenUsage {
    let mut sum = TokenUsage::default();
    for item in iterations(list, "compaction") {
        sum.add(&iteration_usage(item));
    }
    sum
}

pub(crate) fn write_usage(usage: &TokenUsage) -> Value {
    let apart = compactions(usage.rest.get("iterations"));
    let mut map = Map::new();
    for (name, count, apart) in [
        ("input_tokens", usage.input_tokens, apart.input_tokens),
        (
            "cache_creation_input_tokens",
            usage.cache_creation_input_tokens,
            apart.cache_creation_input_tokens,
        ),
        (
            "cache_read_input_tokens",
            usage.cache_read_input_tokens,
            apart.cache_read_input_tokens,
        ),
        ("output_tokens", usage.output_tokens, apart.output_tokens),
    ] {
        map.insert(name.to_owned(), count.saturating_sub(apart).into());
    }
    if usage.thinking_tokens > 0 {
        map.insert(
            "output_tokens_details".to_owned(),
            json!({"thinking_tokens": usage.thinking_tokens}),
        );
    }
    map.extend(without_dialect_fields(&usage.rest));
    Value::Object(map)
}
