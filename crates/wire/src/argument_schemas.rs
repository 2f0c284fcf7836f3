//! Argument schemas of functions, as vendors other than the client's require them.

use serde_json::{Value, json};

/// The schema of a function for an upstream. Anthropic and Bedrock refuse one without
/// `"type": "object"`, OpenAI an object without `properties`: what clients of one vendor send
/// for a tool without arguments, another vendor refuses. A schema that has both, or that is
/// in the upstream's own dialect, is unchanged, so that prompts stay the same.
pub(crate) fn argument_schema(schema: &Value, own: bool) -> Value {
    if own {
        return schema.clone();
    }
    let Value::Object(map) = schema else {
        return no_parameters();
    };
    let is_object = match map.get("type") {
        None | Some(Value::Null) => true,
        Some(Value::Array(types)) => types.iter().any(|one| one == "object"),
        Some(one) => one == "object",
    };
    let mut map = map.clone();
    if is_object {
        map.insert("type".to_owned(), "object".into());
        map.entry("properties").or_insert_with(|| json!({}));
    }
    Value::Object(map)
}

/// The schema of a function without arguments.
pub(crate) fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}
