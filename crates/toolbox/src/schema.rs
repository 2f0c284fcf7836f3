//! Schemas of arguments, and the check of arguments against one: the part of JSON Schema
//! that our tools use.
//!
//! Keywords that are not supported are ignored: the script or function behind the tool
//! still gets the value. An error names the argument and what it must be.

use crate::model_text;
use crate::text::{cut_end, list_names};
use serde_json::{Map, Value, json};

/// Nesting depth up to which a value is checked.
const MAX_DEPTH: usize = 32;

/// Bytes of a value that are quoted in a message.
const MAX_SHOWN_BYTES: usize = 80;

/// The schema of an object without additional properties.
pub(crate) fn object_schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Checks arguments.
///
/// # Errors
/// A sentence that names the first argument that is wrong.
pub(crate) fn check(schema: &Value, input: &Value) -> Result<(), String> {
    if !input.is_object() {
        let kind = kind_name(input);
        return Err(format!("the arguments must be a JSON object, not {kind}"));
    }
    check_value(schema, input, "", 0)
}

fn check_value(schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("argument `{at}` is nested too deeply"));
    }
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        let fits = |option: &&Value| check_value(option, value, at, depth + 1).is_ok();
        if options.iter().find(fits).is_none() {
            let kinds = options
                .iter()
                .map(describe_type)
                .collect::<Vec<_>>()
                .join(" or ");
            return Err(model_text::wrong_argument(
                at,
                &kinds,
                &describe_value(value),
            ));
        }
    }
    if !type_fits(schema, value) {
        let expected = describe_type(schema);
        return Err(model_text::wrong_argument(
            at,
            &expected,
            &describe_value(value),
        ));
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.contains(value)
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        let choices = cut_end(&choices.join(", "), 400);
        let expected = format!("one of {choices}");
        return Err(model_text::wrong_argument(
            at,
            &expected,
            &describe_value(value),
        ));
    }
    match value {
        Value::Object(fields) => check_fields(schema, fields, at, depth),
        Value::Array(items) => {
            let Some(item_schema) = schema.get("items") else {
                return Ok(());
            };
            let mut items = items.iter().enumerate();
            items.try_for_each(|(index, item)| {
                check_value(item_schema, item, &format!("{at}[{index}]"), depth + 1)
            })
        }
        _ => Ok(()),
    }
}

fn check_fields(
    schema: &Value,
    fields: &Map<String, Value>,
    at: &str,
    depth: usize,
) -> Result<(), String> {
    let inner = |name: &str| match at {
        "" => name.to_owned(),
        at => format!("{at}.{name}"),
    };
    let required = schema.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.find(|name| !fields.contains_key(*name)) {
        return Err(model_text::missing_argument(&inner(missing)));
    }
    let known = schema.get("properties").and_then(Value::as_object);
    for (name, value) in fields {
        match known.and_then(|known| known.get(name)) {
            Some(field_schema) => check_value(field_schema, value, &inner(name), depth + 1)?,
            None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                let names = known.into_iter().flat_map(Map::keys).map(String::as_str);
                let names = list_names(names, 30);
                let known = if names.is_empty() {
                    "none".into()
                } else {
                    names
                };
                return Err(model_text::unknown_argument(&inner(name), &known));
            }
            None => {}
        }
    }
    Ok(())
}

fn type_fits(schema: &Value, value: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => is_type(kind, value),
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.any(|kind| is_type(kind, value))
        }
        _ => true,
    }
}

fn is_type(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        // 3.0 is an integer to JSON Schema, and some models write it so.
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(is_whole),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn is_whole(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() < 9e15
}

fn describe_type(schema: &Value) -> String {
    let kinds = match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.collect::<Vec<_>>().join(" or ")
        }
        _ => "a value that its schema allows".into(),
    };
    let article = match kinds.chars().next() {
        Some('a' | 'i' | 'o') => "an",
        _ => "a",
    };
    match kinds.as_str() {
        "null" | "a value that its schema allows" => kinds,
        _ => format!("{article} {kinds}"),
    }
}

fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn describe_value(value: &Value) -> String {
    if value.is_null() {
        return "null".into();
    }
    format!(
        "{} {}",
        kind_name(value),
        cut_end(&value.to_string(), MAX_SHOWN_BYTES)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "file": { "type": "string" },
                "width": { "type": "integer" },
                "format": { "type": "string", "enum": ["png", "gif"] },
                "tags": { "type": "array", "items": { "type": "string" } },
                "note": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            },
            "required": ["file"],
            "additionalProperties": false,
        })
    }

    #[test]
    fn arguments_that_fit_pass() {
        let all = json!({
            "file": "a", "width": 3.0, "format": "gif", "tags": ["x"], "note": null,
        });
        assert_eq!(check(&schema(), &all), Ok(()));
        assert_eq!(check(&schema(), &json!({ "file": "a" })), Ok(()));
    }

    #[test]
    fn a_refusal_names_the_argument_and_what_it_should_be() {
        let cases = [
            json!("text"),
            json!({}),
            json!({ "file": 1 }),
            json!({ "file": "a", "width": "5" }),
            json!({ "file": "a", "width": 1.5 }),
            json!({ "file": "a", "format": "bmp" }),
            json!({ "file": "a", "tags": ["x", 2] }),
            json!({ "file": "a", "note": 3 }),
            json!({ "file": "a", "flie": "b" }),
        ];
        let errors = cases.map(|case| check(&schema(), &case).unwrap_err());
        insta::assert_snapshot!(errors.join("\n"), @r#"
        the arguments must be a JSON object, not a string
        argument `file` is missing
        argument `file` must be a string, not a number 1
        argument `width` must be an integer, not a string "5"
        argument `width` must be an integer, not a number 1.5
        argument `format` must be one of "png", "gif", not a string "bmp"
        argument `tags[1]` must be a string, not a number 2
        argument `note` must be a string or null, not a number 3
        unknown argument `flie`; available: `file`, `width`, `format`, `tags`, `note`
        "#);
    }
}
