//! The schema of a response, as Anthropic's structured outputs and Bedrock's accept it: every
//! object is closed, and most keywords that restrict values are refused. The model reads those
//! in the description instead, as Anthropic's own SDKs have it.

use serde_json::{Value, json};

use crate::model_text;
use crate::neutral::Map;

/// The formats of texts that are enforced.
const FORMATS: [&str; 10] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "time",
    "uri",
    "uuid",
];

/// Keywords without meaning for the model.
const IGNORED: [&str; 6] = [
    "$comment",
    "$id",
    "$schema",
    "propertyOrdering",
    "readOnly",
    "writeOnly",
];

/// A schema that is accepted, and whether it enforces as much as the original.
pub(super) struct OutputSchema {
    pub(super) schema: Value,
    pub(super) is_complete: bool,
}

/// The schema as it is accepted.
pub(super) fn output_schema(schema: &Value) -> OutputSchema {
    let mut is_complete = true;
    let schema = convert(schema, &mut is_complete);
    OutputSchema {
        schema,
        is_complete,
    }
}

fn convert(schema: &Value, is_complete: &mut bool) -> Value {
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    // Older generators wrap a reference to say more about it.
    if let Some(Value::Array(only)) = map.get("allOf")
        && let [Value::Object(only)] = only.as_slice()
    {
        let mut merged = map.clone();
        merged.shift_remove("allOf");
        for (key, value) in only {
            merged.entry(key.clone()).or_insert_with(|| value.clone());
        }
        return convert(&Value::Object(merged), is_complete);
    }
    let mut out = Map::with_capacity(map.len() + 1);
    let mut described = Map::new();
    for (key, value) in map {
        let written = match key.as_str() {
            "$ref" => value.clone(),
            "$defs" | "definitions" => each(value, is_complete),
            // Nothing else is accepted beside a reference.
            _ if map.contains_key("$ref") => continue,
            "properties" => each(value, is_complete),
            "type" | "title" | "description" | "enum" | "const" | "default" | "required" => {
                value.clone()
            }
            "items" => convert(value, is_complete),
            "anyOf" | "allOf" => all(value, is_complete),
            "oneOf" => {
                out.insert("anyOf".to_owned(), all(value, is_complete));
                continue;
            }
            "minItems" if matches!(value.as_u64(), Some(0 | 1)) => value.clone(),
            "format" if value.as_str().is_some_and(|name| FORMATS.contains(&name)) => value.clone(),
            "additionalProperties" if !value.is_object() => continue,
            ignored if IGNORED.contains(&ignored) => continue,
            _ => {
                described.insert(key.clone(), value.clone());
                continue;
            }
        };
        out.insert(key.clone(), written);
    }
    if is_object(&out) {
        out.entry("type").or_insert_with(|| "object".into());
        out.entry("properties").or_insert_with(|| json!({}));
        out.insert("additionalProperties".to_owned(), false.into());
    }
    if !described.is_empty() {
        *is_complete = false;
        let known = out.get("description").and_then(Value::as_str);
        let text = model_text::with_constraints(known, described);
        out.insert("description".to_owned(), text.into());
    }
    Value::Object(out)
}

fn is_object(schema: &Map) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|one| one == "object"),
        Some(one) => one == "object",
        None => schema.contains_key("properties"),
    }
}

fn each(schemas: &Value, is_complete: &mut bool) -> Value {
    match schemas {
        Value::Object(map) => {
            let converted = map
                .iter()
                .map(|(name, schema)| (name.clone(), convert(schema, is_complete)));
            Value::Object(converted.collect())
        }
        other => other.clone(),
    }
}

fn all(schemas: &Value, is_complete: &mut bool) -> Value {
    match schemas {
        Value::Array(items) => items
            .iter()
            .map(|item| convert(item, is_complete))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_within_the_limits_stays_as_it_is() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": {"type": ["string", "null"], "description": "A.", "format": "date"},
                "b": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/b"}},
                "minimum": {"anyOf": [{"type": "integer"}, {"const": "x"}]},
            },
            "required": ["a", "b", "minimum"],
            "additionalProperties": false,
            "$defs": {"b": {"enum": ["x", "y"]}},
        });
        let converted = output_schema(&schema);
        assert_eq!(converted.schema, schema);
        assert!(converted.is_complete);
    }

    #[test]
    fn what_is_refused_is_described() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "age": {"type": "integer", "minimum": 0, "maximum": 9, "description": "Years."},
                "names": {"type": "array", "minItems": 2, "items": {"type": "string", "minLength": 1}},
                "any": {"type": "object", "additionalProperties": {"type": "string"}},
                "one": {"oneOf": [{"properties": {}}, {"type": "null"}]},
            },
            "additionalProperties": true,
        });
        let converted = output_schema(&schema);
        assert_eq!(
            converted.schema,
            json!({
                "type": "object",
                "properties": {
                    "age": {"type": "integer", "description": "Years.\n\n{\"minimum\":0,\"maximum\":9}"},
                    "names": {
                        "type": "array",
                        "items": {"type": "string", "description": "{\"minLength\":1}"},
                        "description": "{\"minItems\":2}",
                    },
                    "any": {
                        "type": "object",
                        "properties": {},
                        "additionalProperties": false,
                        "description": "{\"additionalProperties\":{\"type\":\"string\"}}",
                    },
                    "one": {"anyOf": [
                        {"type": "object", "properties": {}, "additionalProperties": false},
                        {"type": "null"},
                    ]},
                },
                "additionalProperties": false,
            })
        );
        assert!(!converted.is_complete);
    }

    #[test]
    fn a_reference_stands_alone() {
        let reference = json!({"$ref": "#/$defs/a"});
        for schema in [
            json!({"$ref": "#/$defs/a", "description": "One."}),
            json!({"allOf": [{"$ref": "#/$defs/a"}], "title": "A"}),
        ] {
            assert_eq!(output_schema(&schema).schema, reference);
        }
    }
}
