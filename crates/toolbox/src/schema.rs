//! Schemas of arguments, and the check of arguments against one: the part of JSON Schema
//! that our tools use.
//!
//! Keywords that are not supported are ignored: the script or function behind the tool
//! still gets the value. An error names the argument and what it must be.

use crate::model_text;
use crate::text::{cut_end, list_names};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::cell::Cell;

/// Nesting depth up to which a value is checked.
const MAX_DEPTH: usize = 32;

/// Steps of comparing a value with a schema: about a tenth of a second.
const MAX_STEPS: usize = 100_000;

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

/// The arguments without those that are null but cannot be: some models write every argument
/// that a tool has, and mean the ones that they leave out.
pub(crate) fn without_nulls<'a>(schema: &Value, input: &'a Value) -> Cow<'a, Value> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let (Some(fields), Some(properties)) = (input.as_object(), properties) else {
        return Cow::Borrowed(input);
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let is_left_out = |name: &str, value: &Value| {
        let cannot_be = |property| check_value(property, value, name, 0).is_err();
        // Required ones last: a value may have far more fields than the schema.
        value.is_null() && properties.get(name).is_some_and(cannot_be) && !is_required(name)
    };
    if !fields.iter().any(|(name, value)| is_left_out(name, value)) {
        return Cow::Borrowed(input);
    }
    let kept = fields
        .iter()
        .filter(|(name, value)| !is_left_out(name, value));
    let kept = kept.map(|(name, value)| (name.clone(), value.clone()));
    Cow::Owned(Value::Object(kept.collect()))
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
    let comparison = Comparison {
        steps: Cell::new(MAX_STEPS),
    };
    let checked = comparison.check_value(schema, value, at, depth);
    checked.map_err(Mismatch::explain)
}

/// A comparison of a value with a schema. Both can be large and come from others: the schema
/// from a `tools.py`, and every item of a list is compared with every part of it.
struct Comparison {
    /// Steps that are left. What comes after the last one is not checked.
    steps: Cell<usize>,
}

/// What does not fit. It is only described if somebody is told.
enum Mismatch<'a> {
    TooDeep(String),
    Wrong {
        at: String,
        expected: Expected<'a>,
        value: &'a Value,
    },
    Missing(String),
    Unknown {
        at: String,
        known: Option<&'a Map<String, Value>>,
    },
}

/// What a value must be.
enum Expected<'a> {
    Options(&'a [Value]),
    Type(&'a Value),
    Choices(&'a [Value]),
}

impl Comparison {
    /// Takes the steps of one part of a schema; false if there are not as many left.
    fn takes_steps_of(&self, schema: &Value) -> bool {
        let lists = ["type", "enum", "required"].into_iter();
        let lists = lists.filter_map(|list| schema.get(list)?.as_array());
        let steps = lists.map(Vec::len).sum::<usize>() + 1;
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or(0));
        left.is_some()
    }

    fn check_value<'a>(
        &self,
        schema: &'a Value,
        value: &'a Value,
        at: &str,
        depth: usize,
    ) -> Result<(), Mismatch<'a>> {
        let wrong = |expected| {
            let at = at.to_owned();
            Err(Mismatch::Wrong {
                at,
                expected,
                value,
            })
        };
        if !self.takes_steps_of(schema) {
            return Ok(());
        }
        if depth > MAX_DEPTH {
            return Err(Mismatch::TooDeep(at.to_owned()));
        }
        if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
            let fits = |option| self.check_value(option, value, at, depth + 1).is_ok();
            if !options.iter().any(fits) {
                return wrong(Expected::Options(options));
            }
        }
        if !type_fits(schema, value) {
            return wrong(Expected::Type(schema));
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array)
            && !choices.contains(value)
        {
            return wrong(Expected::Choices(choices));
        }
        match value {
            Value::Object(fields) => self.check_fields(schema, fields, at, depth),
            Value::Array(items) => {
                let Some(item_schema) = schema.get("items") else {
                    return Ok(());
                };
                let mut items = items.iter().enumerate();
                items.try_for_each(|(index, item)| match self.steps.get() {
                    0 => Ok(()),
                    _ => self.check_value(item_schema, item, &format!("{at}[{index}]"), depth + 1),
                })
            }
            _ => Ok(()),
        }
    }

    fn check_fields<'a>(
        &self,
        schema: &'a Value,
        fields: &'a Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<(), Mismatch<'a>> {
        let inner = |name: &str| match at {
            "" => name.to_owned(),
            at => format!("{at}.{name}"),
        };
        let required = schema.get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten().filter_map(Value::as_str);
        if let Some(missing) = required.find(|name| !fields.contains_key(*name)) {
            return Err(Mismatch::Missing(inner(missing)));
        }
        let known = schema.get("properties").and_then(Value::as_object);
        for (name, value) in fields {
            match known.and_then(|known| known.get(name)) {
                Some(field_schema) => {
                    self.check_value(field_schema, value, &inner(name), depth + 1)?
                }
                None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                    let at = inner(name);
                    return Err(Mismatch::Unknown { at, known });
                }
                None => {}
            }
        }
        Ok(())
    }
}

impl Mismatch<'_> {
    fn explain(self) -> String {
        match self {
            Self::TooDeep(at) => format!("argument `{at}` is nested too deeply"),
            Self::Wrong {
                at,
                expected,
                value,
            } => model_text::wrong_argument(&at, &expected.describe(), &describe_value(value)),
            Self::Missing(at) => model_text::missing_argument(&at),
            Self::Unknown { at, known } => {
                let names = known.into_iter().flat_map(Map::keys).map(String::as_str);
                let names = list_names(names, 30);
                let known = if names.is_empty() {
                    "none".into()
                } else {
                    names
                };
                model_text::unknown_argument(&at, &known)
            }
        }
    }
}

impl Expected<'_> {
    fn describe(&self) -> String {
        match self {
            Self::Options(options) => {
                let kinds: Vec<String> = options.iter().map(describe_type).collect();
                kinds.join(" or ")
            }
            Self::Type(schema) => describe_type(schema),
            Self::Choices(choices) => {
                let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
                let choices = cut_end(&choices.join(", "), 400);
                format!("one of {choices}")
            }
        }
    }
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
    fn null_is_an_argument_that_is_left_out_unless_it_must_be_there_or_may_be_null() {
        let input = json!({ "file": null, "width": null, "note": null, "flie": null });
        let kept = json!({ "file": null, "note": null, "flie": null });
        assert_eq!(*without_nulls(&schema(), &input), kept);
    }

    #[test]
    fn a_large_value_is_not_compared_with_all_of_a_large_schema_without_end() {
        let mut options = vec![json!({ "enum": ["another"] }); 500];
        options.push(json!({ "type": "integer" }));
        let list = json!({ "type": "array", "items": { "anyOf": options } });
        let schema = json!({ "type": "object", "properties": { "list": list } });
        let with_wrong_end = |count| {
            let mut items = vec![json!(1); count];
            items.push(json!("wrong"));
            check(&schema, &json!({ "list": items }))
        };
        let refused = with_wrong_end(10).unwrap_err();
        assert!(refused.contains("`list[10]`"), "{refused}");
        // The function gets what is not checked any more.
        assert_eq!(with_wrong_end(MAX_STEPS), Ok(()));
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
