//! Gemini's own kind of schema as JSON Schema: types are in capitals, and numbers of
//! items are texts.

use serde_json::{Number, Value};

use crate::camel_case::camel;
use crate::neutral::Map;

/// Deeper than any schema that a model could follow.
const MAX_DEPTH: usize = 64;

/// Keywords whose numbers Google's JSON may write as text.
const COUNT_KEYWORDS: [&str; 6] = [
    "maxItems",
    "minItems",
    "maxLength",
    "minLength",
    "maxProperties",
    "minProperties",
];

/// The types in the order of their numbers.
const TYPES: [&str; 8] = [
    "type_unspecified",
    "string",
    "number",
    "integer",
    "boolean",
    "array",
    "object",
    "null",
];

/// A schema as JSON Schema. What is JSON Schema already stays as it is.
pub(super) fn json_schema(schema: Value) -> Value {
    convert(schema, MAX_DEPTH)
}

fn convert(schema: Value, depth: usize) -> Value {
    let (Value::Object(map), Some(depth)) = (&schema, depth.checked_sub(1)) else {
        return schema;
    };
    let nullable = map.get("nullable") == Some(&Value::Bool(true));
    let order = map
        .get("propertyOrdering")
        .or_else(|| map.get("property_ordering"));
    let mut out = Map::with_capacity(map.len());
    for (key, value) in map {
        let (key, value) = (camel(key), value.clone());
        let written = match key.as_ref() {
            "nullable" | "propertyOrdering" => None,
            "type" => kind(value, nullable).map(|kind| ("type", kind)),
            // It adds nothing to the list of values.
            "format" if value == "enum" => None,
            "enum" => Some(("enum", values(value, nullable))),
            "properties" => Some(("properties", each(value, order, depth))),
            "ref" => Some(("$ref", value)),
            "example" => Some(("examples", Value::Array(vec![value]))),
            "defs" | "$defs" => Some(("$defs", each(value, None, depth))),
            key => Some((key, other(key, value, depth))),
        };
        out.extend(written.map(|(key, value)| (key.to_owned(), value)));
    }
    or_null(&mut out, nullable);
    Value::Object(out)
}

/// The value of a keyword that is called the same in both.
fn other(key: &str, value: Value, depth: usize) -> Value {
    match key {
        "items" | "additionalProperties" => convert(value, depth),
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => all(value, depth),
        key if COUNT_KEYWORDS.contains(&key) => count(value),
        _ => value,
    }
}

/// The type in lower case; `None` when it is missing.
fn kind(value: Value, nullable: bool) -> Option<Value> {
    let name = match value.as_u64() {
        Some(number) => type_of_number(number),
        None => value.as_str().map(str::to_ascii_lowercase),
    };
    let Some(name) = name else {
        return Some(value);
    };
    match (name.as_str(), nullable) {
        ("type_unspecified", _) => None,
        (_, true) => Some(Value::from(vec![name, "null".to_owned()])),
        (_, false) => Some(name.into()),
    }
}

/// The name of a type that a client sends as the number it has in Google's protocol.
fn type_of_number(number: u64) -> Option<String> {
    let name = TYPES.get(usize::try_from(number).ok()?)?;
    Some((*name).to_owned())
}

fn values(mut value: Value, nullable: bool) -> Value {
    if let (Value::Array(values), true) = (&mut value, nullable)
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    value
}

/// A choice without its own type may be null as one of its choices.
fn or_null(out: &mut Map, nullable: bool) {
    if let (true, false, Some(Value::Array(choices))) =
        (nullable, out.contains_key("type"), out.get_mut("anyOf"))
    {
        choices.push(serde_json::json!({"type": "null"}));
    }
}

fn each(value: Value, order: Option<&Value>, depth: usize) -> Value {
    let Value::Object(mut map) = value else {
        return value;
    };
    let mut out = Map::with_capacity(map.len());
    let first = order.and_then(Value::as_array).into_iter().flatten();
    for name in first.filter_map(Value::as_str) {
        if let Some(schema) = map.shift_remove(name) {
            out.insert(name.to_owned(), convert(schema, depth));
        }
    }
    for (name, schema) in map {
        out.insert(name, convert(schema, depth));
    }
    Value::Object(out)
}

fn all(value: Value, depth: usize) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| convert(item, depth)).collect(),
        other => other,
    }
}

fn count(value: Value) -> Value {
    let number = value.as_str().and_then(|text| text.parse::<u64>().ok());
    number.map_or(value, |number| Value::Number(Number::from(number)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_type_may_be_the_number_of_googles_protocol() {
        let schema = json!({"type": 6, "properties": {
            "a": {"type": 1, "nullable": true}, "b": {"type": 0}, "c": {"type": 99}}});
        let expected = json!({"type": "object", "properties": {
            "a": {"type": ["string", "null"]}, "b": {}, "c": {"type": 99}}});
        assert_eq!(json_schema(schema), expected);
    }

    #[test]
    fn a_schema_of_geminis_becomes_json_schema() {
        let schema = json!({
            "type": "OBJECT",
            "property_ordering": ["b", "a"],
            "required": ["b"],
            "properties": {
                "a": {"type": "ARRAY", "minItems": "1", "items": {"type": "INTEGER", "format": "int32"}},
                "b": {"type": "STRING", "format": "enum", "enum": ["x", "y"], "nullable": true},
                "type": {"any_of": [{"type": "NUMBER"}, {"ref": "#/$defs/t"}], "nullable": true},
            },
            "defs": {"t": {"type": "TYPE_UNSPECIFIED", "example": 1}},
        });
        let expected = json!({
            "type": "object",
            "required": ["b"],
            "properties": {
                "b": {"type": ["string", "null"], "enum": ["x", "y", null]},
                "a": {"type": "array", "minItems": 1, "items": {"type": "integer", "format": "int32"}},
                "type": {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/t"}, {"type": "null"}]},
            },
            "$defs": {"t": {"examples": [1]}},
        });
        let converted = json_schema(schema);
        assert_eq!(converted, expected);
        let names: Vec<_> = converted["properties"]
            .as_object()
            .unwrap()
            .keys()
            .collect();
        assert_eq!(names, ["b", "a", "type"]);
        assert_eq!(json_schema(expected.clone()), expected);
    }

    #[test]
    fn a_schema_without_end_is_left_alone_at_some_depth() {
        let mut schema = json!({"type": "STRING"});
        for _ in 0..200 {
            schema = json!({"type": "ARRAY", "items": schema});
        }
        let converted = json_schema(schema).to_string();
        assert!(converted.starts_with(r#"{"type":"array""#), "{converted}");
        assert!(converted.contains("STRING"));
    }
}
