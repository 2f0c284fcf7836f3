//! Anthropic's token counts, both ways.

use serde_json::{Value, json};

use crate::error::WireError;
use crate::fields::{JsonFields, as_whole_number};
use crate::json_path::JsonPath;
use crate::neutral::{Map, TokenUsage, without_dialect_fields};

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
    Ok(())
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
pub(crate) fn compactions(iterations: Option<&Value>) -> TokenUsage {
    let mut sum = TokenUsage::default();
    let items = iterations.and_then(Value::as_array);
    for item in items.into_iter().flatten() {
        if item.get("type").and_then(Value::as_str) != Some("compaction") {
            continue;
        }
        let count = |key: &str| item.get(key).and_then(as_whole_number).unwrap_or(0);
        sum.add(&TokenUsage {
            input_tokens: count("input_tokens"),
            output_tokens: count("output_tokens"),
            cache_read_input_tokens: count("cache_read_input_tokens"),
            cache_creation_input_tokens: count("cache_creation_input_tokens"),
            ..TokenUsage::default()
        });
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
