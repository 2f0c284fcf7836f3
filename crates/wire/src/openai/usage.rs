//! OpenAI's token counts, both ways. Cached input is part of the input there, apart
//! from it here.

use serde_json::{Value, json};

use crate::error::WireError;
use crate::fields::{Fields, Path};
use crate::neutral::{Map, OWN, Usage, merge};

/// The words for input and output; the two dialects differ in nothing else.
pub(crate) struct Names {
    pub(crate) input: &'static str,
    pub(crate) input_details: &'static str,
    pub(crate) output: &'static str,
    pub(crate) output_details: &'static str,
    /// Under which name counts that only this dialect has are kept.
    pub(crate) own: &'static str,
}

pub(crate) fn read_usage(value: Value, path: &Path<'_>, names: &Names) -> Result<Usage, WireError> {
    let mut fields = Fields::of(value, path)?;
    let input = fields.opt_u64(names.input)?.unwrap_or(0);
    let output_tokens = fields.opt_u64(names.output)?.unwrap_or(0);
    let cached = detail(&mut fields, names.input_details, "cached_tokens");
    let written = detail(&mut fields, names.input_details, "cache_write_tokens");
    let thinking_tokens = detail(&mut fields, names.output_details, "reasoning_tokens");
    let rest = own_counts(fields, names);
    Ok(Usage {
        input_tokens: input.saturating_sub(cached).saturating_sub(written),
        output_tokens,
        cache_read_input_tokens: cached,
        cache_creation_input_tokens: written,
        thinking_tokens,
        rest,
    })
}

/// Details that are counted above.
const COUNTED: [&str; 3] = ["cached_tokens", "cache_write_tokens", "reasoning_tokens"];

/// Counts and costs that no road understands, for clients of the same dialect.
fn own_counts(fields: Fields<'_>, names: &Names) -> Map {
    let mut own = fields.rest();
    own.shift_remove("total_tokens");
    for key in [names.input_details, names.output_details] {
        let details = own.get_mut(key).and_then(Value::as_object_mut);
        let is_empty = details.is_none_or(|details| {
            details.retain(|key, value| !COUNTED.contains(&key.as_str()) && !value.is_null());
            details.is_empty()
        });
        if is_empty {
            own.shift_remove(key);
        }
    }
    own.retain(|_, value| !value.is_null());
    match own.is_empty() {
        true => Map::new(),
        false => Map::from_iter([(OWN.to_owned(), json!({names.own: own}))]),
    }
}

/// A count of a details object; some servers leave the object out or null.
fn detail(fields: &mut Fields<'_>, key: &str, name: &str) -> u64 {
    fields
        .peek(key)
        .and_then(|details| details.get(name))
        .and_then(Value::as_u64)
        .unwrap_or(0)
}

pub(crate) fn write_usage(usage: &Usage, names: &Names) -> Value {
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
    let own = usage.rest.get(OWN).and_then(|own| own.get(names.own));
    if let (Some(counts), Some(Value::Object(own))) = (counts.as_object_mut(), own) {
        merge(counts, own.clone());
    }
    counts
}
