//! OpenAI's token counts, both ways. Cached input is part of the input there, apart
//! from it here.

use serde_json::{Value, json};

use crate::error::WireError;
use crate::fields::{JsonFields, as_whole_number};
use crate::json_path::JsonPath;
use crate::neutral::{DIALECT_FIELDS, Map, PriceDetails, ServiceTier, TokenUsage, merge};

/// The field names for input and output; the two dialects differ in nothing else.
pub(crate) struct UsageFieldNames {
    pub(crate) input: &'static str,
    pub(crate) input_details: &'static str,
    pub(crate) output: &'static str,
    pub(crate) output_details: &'static str,
    /// The name under which counts specific to this dialect are retained.
    pub(crate) own: &'static str,
}

pub(crate) fn read_usage(
    value: Value,
    path: &JsonPath<'_>,
    names: &UsageFieldNames,
) -> Result<TokenUsage, WireError> {
    let fields = JsonFields::from_value(value, path)?;
    let input = count(fields.peek(names.input));
    let output = count(fields.peek(names.output));
    let total = count(fields.peek("total_tokens"));
    let cached = detail(&fields, names.input_details, "cached_tokens");
    let beside = CACHED_FIELDS.map(|name| count(fields.peek(name)));
    let cached = first_count([cached].into_iter().chain(beside));
    let written = detail(&fields, names.input_details, "cache_write_tokens");
    let written = first_count([written, count(fields.peek(CACHE_WRITE_FIELD))]);
    let thoughts = detail(&fields, names.output_details, "reasoning_tokens");
    let cached = cached_input(cached, input, output.saturating_add(thoughts), total);
    let cache = cached.saturating_add(written);
    let (output_tokens, thinking_tokens) = all_output(input, output, thoughts, cache, total);
    let details = PriceDetails {
        audio_input_tokens: detail(&fields, names.input_details, AUDIO_FIELD),
        audio_output_tokens: detail(&fields, names.output_details, AUDIO_FIELD),
        ..PriceDetails::default()
    };
    let rest = own_counts(fields, names);
    Ok(TokenUsage {
        input_tokens: input.saturating_sub(cached).saturating_sub(written),
        output_tokens,
        cache_read_input_tokens: cached,
        cache_creation_input_tokens: written,
        thinking_tokens,
        details: details.into_option(),
        rest,
    })
}

/// The service tier in a field of a response; it is beside the usage.
pub(crate) fn service_tier(field: Option<&Value>) -> Option<ServiceTier> {
    ServiceTier::from_word(field?.as_str()?)
}

/// Sound, among the details of input and of output.
const AUDIO_FIELD: &str = "audio_tokens";

/// Where servers other than OpenAI's count cached input, besides the input: Moonshot and
/// Together, Mistral, DeepSeek, and gateways with Anthropic's field names.
const CACHED_FIELDS: [&str; 4] = [
    "cached_tokens",
    "num_cached_tokens",
    "prompt_cache_hit_tokens",
    "cache_read_input_tokens",
];
/// The same for input that was written to a cache.
const CACHE_WRITE_FIELD: &str = "cache_creation_input_tokens";

/// The first of several places that counts anything.
pub(crate) fn first_count(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().find(|count| *count > 0).unwrap_or(0)
}

/// The cached part of the input. Azure counts more of it than input for some models; then the
/// total, which has no more than input and output, says how much it can be.
pub(crate) fn cached_input(cached: u64, input: u64, output: u64, total: u64) -> u64 {
    if total > 0 && total <= input.saturating_add(output) {
        cached.min(input)
    } else {
        cached
    }
}

/// All output, and the thoughts in it. With OpenAI thoughts are part of the output; xAI counts
/// them apart from it, which the total shows, or without one that there are more thoughts than
/// output. Google's servers show thoughts in the total only: without any other count, what is
/// left of the total is thoughts.
pub(crate) fn all_output(
    input: u64,
    output: u64,
    thoughts: u64,
    cache: u64,
    total: u64,
) -> (u64, u64) {
    let with_thoughts = output.saturating_add(thoughts);
    let counted = input.saturating_add(with_thoughts);
    let apart = match total {
        0 => thoughts > output,
        total => total == counted,
    };
    if apart {
        return (with_thoughts, thoughts);
    }
    // Gateways that add cached input to the total alone say how much it is.
    if thoughts == 0 && cache == 0 && input > 0 && total > counted {
        return (total.saturating_sub(input), total.saturating_sub(counted));
    }
    // Some servers count more thoughts than output.
    (output, thoughts.min(output))
}

/// Details that are counted above.
const COUNTED_DETAILS: [&str; 3] = ["cached_tokens", "cache_write_tokens", "reasoning_tokens"];

/// Counts and costs that no codec understands, for clients of the same dialect.
fn own_counts(fields: JsonFields<'_>, names: &UsageFieldNames) -> Map {
    let mut own = fields.rest();
    for counted in [names.input, names.output, "total_tokens"] {
        own.shift_remove(counted);
    }
    for key in [names.input_details, names.output_details] {
        let details = own.get_mut(key).and_then(Value::as_object_mut);
        let is_empty = details.is_none_or(|details| {
            details
                .retain(|key, value| !COUNTED_DETAILS.contains(&key.as_str()) && !value.is_null());
            details.is_empty()
        });
        if is_empty {
            own.shift_remove(key);
        }
    }
    own.retain(|_, value| !value.is_null());
    if own.is_empty() {
        Map::new()
    } else {
        Map::from_iter([(DIALECT_FIELDS.to_owned(), json!({names.own: own}))])
    }
}

/// A count of a details object; some servers leave the object out or null.
fn detail(fields: &JsonFields<'_>, key: &str, name: &str) -> u64 {
    count(fields.peek(key).and_then(|details| details.get(name)))
}

/// A number of tokens. Anything else counts as 0: the response itself is valid.
fn count(value: Option<&Value>) -> u64 {
    value.and_then(as_whole_number).unwrap_or(0)
}

pub(crate) fn write_usage(usage: &TokenUsage, names: &UsageFieldNames) -> Value {
    let input = usage.total_input();
    let mut counts = json!({
        names.input: input,
        names.output: usage.output_tokens,
        "total_tokens": input.saturating_add(usage.output_tokens),
        names.input_details: {
            "cached_tokens": usage.cache_read_input_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
        },
        names.output_details: {"reasoning_tokens": usage.thinking_tokens},
    });
    let own = usage
        .rest
        .get(DIALECT_FIELDS)
        .and_then(|own| own.get(names.own));
    if let (Some(counts), Some(Value::Object(own))) = (counts.as_object_mut(), own) {
        merge(counts, own.clone());
    }
    counts
}
