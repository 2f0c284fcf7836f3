//! Tool arguments: JSON text on OpenAI's wire and in every stream, values elsewhere.

use serde_json::{Map, Value, json};

use crate::drops::Drops;
use crate::json_path::JsonPath;
use crate::parsed_size::{MAX_PARSED_EXCESS, parsed_excess};

/// Maximum nesting of arguments that become a value. Parsers of JSON stop at a depth of 127, and
/// arguments are stored and sent inside of other values: deeper ones could not be read again.
const MAX_DEPTH: usize = 96;

/// Reads arguments. An empty text means no arguments; text that is not JSON (models do
/// write it), is nested too deep, or would take too much memory, becomes a string, so that it can
/// be sent back unchanged.
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
        Ok(value) if is_deeper(&value, MAX_DEPTH) => Value::String(text),
        Ok(value) => value,
    }
}

/// Whether lists and objects are nested deeper than this. Parsing has limited how deep they can be.
fn is_deeper(value: &Value, depth: usize) -> bool {
    let is_inner_deeper = |inner: &Value| is_deeper(inner, depth.saturating_sub(1));
    match value {
        Value::Array(_) | Value::Object(_) if depth == 0 => true,
        Value::Array(items) => items.iter().any(is_inner_deeper),
        Value::Object(fields) => fields.values().any(is_inner_deeper),
        _ => false,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        let lists = depth - 1;
        format!("{{\"a\":{}{}}}", "[".repeat(lists), "]".repeat(lists))
    }

    #[test]
    fn arguments_that_could_not_be_read_inside_of_other_values_stay_text() {
        let kept = parse(nested(MAX_DEPTH));
        assert!(kept.is_object());
        assert_eq!(write(&kept), nested(MAX_DEPTH));
        for depth in [MAX_DEPTH + 1, 127, 128, 10_000] {
            let text = nested(depth);
            let kept = parse(text.clone());
            assert!(kept.is_string(), "{depth}");
            assert_eq!(write(&kept), text, "{depth}");
        }
    }
}
