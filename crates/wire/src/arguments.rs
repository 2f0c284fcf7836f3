//! Tool arguments: JSON text on OpenAI's wire and in every stream, values elsewhere.

use serde_json::{Map, Value, json};

use crate::drops::Drops;
use crate::json_path::JsonPath;
use crate::parsed_size::{MAX_PARSED_EXCESS, parsed_excess};

/// Reads arguments. An empty text means no arguments; text that is not JSON (models do
/// write it), or would take too much memory, becomes a string, so that it can be sent back
/// unchanged.
pub(crate) fn parse(text: String) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    if parsed_excess(text.as_bytes()) > MAX_PARSED_EXCESS {
        return Value::String(text);
    }
    match serde_json::from_str(&text) {
        // A JSON string would lose its quotes on the way back.
        Ok(Value::String(_)) | Err(_) => Value::String(text),
        // Some servers write no arguments as `null`.
        Ok(Value::Null) => Value::Object(Map::new()),
        Ok(value) => value,
    }
}

/// Writes arguments as text, the opposite of [`parse`].
pub(crate) fn write(input: &Value) -> String {
    match input {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Arguments for dialects that accept objects only; anything else is wrapped and reported.
pub(crate) fn to_object(input: &Value, path: &JsonPath<'_>, drops: &mut Drops) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        other => {
            drops.add(
                path.key("input"),
                "not a JSON object: sent as the field `input` of one",
            );
            json!({"input": other})
        }
    }
}

/// Whether the text is a whole JSON value, so that nothing more can follow.
pub(crate) fn is_complete(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
