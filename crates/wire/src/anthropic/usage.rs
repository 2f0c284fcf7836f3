//! Anthropic's token counts, both ways.

use serde_json::{Value, json};

use crate::error::WireError;
use crate::fields::{Fields, Path};
use crate::neutral::{Map, Usage, without_own};

pub(crate) fn read_usage(value: Value, path: &Path<'_>) -> Result<Usage, WireError> {
    let mut fields = Fields::of(value, path)?;
    let mut usage = Usage {
        input_tokens: fields.opt_u64("input_tokens")?.unwrap_or(0),
        output_tokens: fields.opt_u64("output_tokens")?.unwrap_or(0),
        cache_read_input_tokens: fields.opt_u64("cache_read_input_tokens")?.unwrap_or(0),
        cache_creation_input_tokens: fields.opt_u64("cache_creation_input_tokens")?.unwrap_or(0),
        ..Usage::default()
    };
    if let Some(details) = fields.take("output_tokens_details") {
        let path = path.key("output_tokens_details");
        usage.thinking_tokens = Fields::of(details, &path)?
            .opt_u64("thinking_tokens")?
            .unwrap_or(0);
    }
    usage.rest = fields.rest();
    Ok(usage)
}

pub(crate) fn write_usage(usage: &Usage) -> Value {
    let mut map = Map::new();
    map.insert("input_tokens".to_owned(), usage.input_tokens.into());
    map.insert(
        "cache_creation_input_tokens".to_owned(),
        usage.cache_creation_input_tokens.into(),
    );
    map.insert(
        "cache_read_input_tokens".to_owned(),
        usage.cache_read_input_tokens.into(),
    );
    map.insert("output_tokens".to_owned(), usage.output_tokens.into());
    if usage.thinking_tokens > 0 {
        map.insert(
            "output_tokens_details".to_owned(),
            json!({"thinking_tokens": usage.thinking_tokens}),
        );
    }
    map.extend(without_own(&usage.rest));
    Value::Object(map)
}
