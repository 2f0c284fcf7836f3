//! Schemas of arguments that every client can read.

use serde_json::{Map, Value, json};

/// Nesting depth up to which a schema is rewritten.
const MAX_DEPTH: usize = 64;

/// Replaces the booleans that stand for schemas.
///
/// They are valid JSON Schema, but Google's client for Python takes every schema for an object,
/// and with one that is none it can use no tool of the server. `additionalProperties` is left out
/// instead, because other clients take only a boolean there: arguments that a tool does not have
/// are refused when it is called.
pub(crate) fn without_booleans(mut schema: Map<String, Value>) -> Map<String, Value> {
    rewrite(&mut schema, 0);
    schema
}

fn rewrite(schema: &mut Map<String, Value>, depth: usize) {
    if depth >= MAX_DEPTH {
        return;
    }
    let additional = schema.get("additionalProperties");
    if additional.is_some_and(Value::is_boolean) {
        schema.shift_remove("additionalProperties");
    }
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(|inner| replace(inner, depth));
            }
            (
                "properties" | "patternProperties" | "$defs" | "definitions",
                Value::Object(schemas),
            ) => {
                schemas.values_mut().for_each(|inner| replace(inner, depth));
            }
            ("items" | "additionalProperties" | "not", inner) => replace(inner, depth),
            _ => {}
        }
    }
}

/// A schema inside another one.
fn replace(schema: &mut Value, depth: usize) {
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({"not": {}}),
        Value::Object(schema) => rewrite(schema, depth + 1),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(schema: Value) -> Value {
        match schema {
            Value::Object(schema) => Value::Object(without_booleans(schema)),
            other => other,
        }
    }

    #[test]
    fn no_schema_is_a_boolean() {
        let schema = json!({
            "type": "object",
            "properties": {
                "any": true,
                "none": false,
                "list": {"type": "array", "items": true},
                "either": {"anyOf": [{"type": "object", "additionalProperties": false}, true]},
                "one": {"oneOf": [false]},
                "all": {"allOf": [true], "not": false},
                "pair": {"type": "array", "prefixItems": [true, false]},
                "named": {"type": "object", "patternProperties": {"^x-": true}},
                "map": {"type": "object", "additionalProperties":
                    {"type": "object", "additionalProperties": true}},
                "there": {"$ref": "#/$defs/point"},
            },
            "$defs": {"point": {"type": "object", "properties": {}, "additionalProperties": false}},
            "additionalProperties": false,
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "any": {},
                "none": {"not": {}},
                "list": {"type": "array", "items": {}},
                "either": {"anyOf": [{"type": "object"}, {}]},
                "one": {"oneOf": [{"not": {}}]},
                "all": {"allOf": [{}], "not": {"not": {}}},
                "pair": {"type": "array", "prefixItems": [{}, {"not": {}}]},
                "named": {"type": "object", "patternProperties": {"^x-": {}}},
                "map": {"type": "object", "additionalProperties": {"type": "object"}},
                "there": {"$ref": "#/$defs/point"},
            },
            "$defs": {"point": {"type": "object", "properties": {}}},
        });
        assert_eq!(rewritten(schema), expected);
    }

    #[test]
    fn booleans_that_are_no_schemas_and_arguments_named_like_keywords_stay() {
        let schema = json!({
            "type": "object",
            "properties": {
                "additionalProperties": {"type": "boolean", "default": true},
                "items": {"enum": [true, {"items": false}], "default": {"items": true}},
                "properties": {"const": {"additionalProperties": false}},
            },
            "required": ["items"],
        });
        assert_eq!(rewritten(schema.clone()), schema);
    }

    #[test]
    fn a_schema_that_is_nested_very_deeply_is_rewritten_in_part() {
        let deep = |levels: usize| {
            (0..levels).fold(
                json!({"additionalProperties": false}),
                |inner, _| json!({"type": "array", "items": inner}),
            )
        };
        let has_boolean = |schema: Value| schema.to_string().contains("false");
        assert!(!has_boolean(rewritten(deep(MAX_DEPTH - 1))));
        assert!(has_boolean(rewritten(deep(5 * MAX_DEPTH))));
    }
}
