//! Which schemas OpenAI accepts as strict. It refuses a request with any other one that claims
//! to be, and accepts all that do not.

use serde_json::Value;

use crate::Dialect;
use crate::argument_schemas::argument_schema;
use crate::drops::Drops;
use crate::json_path::JsonPath;
use crate::neutral::{Map, Tool, ToolKind};

/// The keywords of strict schemas.
const KEYWORDS: [&str; 23] = [
    "$defs",
    "$ref",
    "$schema",
    "additionalProperties",
    "anyOf",
    "const",
    "definitions",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
];

/// The formats of texts that strict schemas may demand.
const FORMATS: [&str; 9] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "time",
    "uuid",
];

/// Whether a function is to be strict. Other vendors' clients may demand it for schemas that
/// OpenAI refuses.
pub(crate) fn strict_function(
    origin: Dialect,
    tool: &Tool,
    path: &JsonPath<'_>,
    drops: &mut Drops,
) -> Option<bool> {
    let ToolKind::Function {
        input_schema,
        strict,
        ..
    } = &tool.kind
    else {
        return None;
    };
    let is_refused = *strict == Some(true)
        && !matches!(origin, Dialect::Chat | Dialect::Responses)
        && !is_strict_schema(&argument_schema(input_schema, false));
    if is_refused {
        let why = "OpenAI's strict functions require every argument and allow fewer keywords";
        drops.add(path.key("strict"), why);
        return Some(false);
    }
    *strict
}

/// Whether OpenAI accepts a schema as strict: its root is an object, every object is closed and
/// requires all its properties, and there are no other keywords than those that are supported.
pub(crate) fn is_strict_schema(schema: &Value) -> bool {
    let Value::Object(root) = schema else {
        return false;
    };
    root.get("type").is_some_and(|kind| kind == "object")
        && !root.contains_key("anyOf")
        && is_strict(schema)
}

fn is_strict(schema: &Value) -> bool {
    let Value::Object(map) = schema else {
        return true;
    };
    is_closed(map) && map.iter().all(|(key, value)| is_supported(key, value))
}

fn is_supported(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("properties" | "$defs" | "definitions", Value::Object(schemas)) => {
            schemas.values().all(is_strict)
        }
        ("anyOf", Value::Array(schemas)) => schemas.iter().all(is_strict),
        ("items", schema) => is_strict(schema),
        ("format", Value::String(name)) => FORMATS.contains(&name.as_str()),
        _ => KEYWORDS.contains(&key),
    }
}

fn is_closed(schema: &Map) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return !schema.get("type").is_some_and(|kind| kind == "object");
    };
    let required = schema.get("required").and_then(Value::as_array);
    let needs = |key: &String| required.is_some_and(|names| names.iter().any(|name| name == key));
    schema.get("additionalProperties") == Some(&Value::Bool(false)) && properties.keys().all(needs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(property: Value) -> Value {
        json!({"type": "object", "properties": {"default": property},
            "required": ["default"], "additionalProperties": false})
    }

    #[test]
    fn what_openai_supports_is_strict() {
        for property in [
            json!({"type": ["string", "null"], "pattern": "^a", "format": "date"}),
            json!({"type": "array", "minItems": 2, "items": with(json!({"enum": ["a"]}))}),
            json!({"anyOf": [{"type": "integer", "maximum": 3}, {"$ref": "#/$defs/a"}]}),
        ] {
            assert!(is_strict_schema(&with(property.clone())), "{property}");
        }
    }

    #[test]
    fn what_openai_refuses_is_not() {
        for property in [
            json!({"type": "string", "minLength": 1}),
            json!({"type": "string", "format": "uri"}),
            json!({"type": "string", "default": "a"}),
            json!({"oneOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"allOf": [{"$ref": "#/$defs/a"}]}),
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}),
        ] {
            assert!(!is_strict_schema(&with(property.clone())), "{property}");
        }
        assert!(!is_strict_schema(
            &json!({"type": "array", "items": {"type": "string"}})
        ));
        assert!(!is_strict_schema(&json!({"anyOf": [with(json!({}))]})));
    }
}
