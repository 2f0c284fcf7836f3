//! `metadata` of OpenAI's objects: a few short strings set by the client.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::HttpError;

const MAX_ENTRIES: usize = 16;
const MAX_KEY_CHARS: usize = 64;
const MAX_VALUE_CHARS: usize = 512;

/// Parses `metadata`; missing and null are empty.
pub(crate) fn parse(metadata: Option<&Value>) -> Result<BTreeMap<String, String>, HttpError> {
    let fields = match metadata {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err(invalid_metadata("metadata", "must be an object of strings")),
    };
    if fields.len() > MAX_ENTRIES {
        return Err(invalid_metadata(
            "metadata",
            "at most 16 entries are allowed",
        ));
    }
    fields.iter().map(parse_entry).collect()
}

/// Parses the `metadata` that replaces the stored one. Only null and an empty object remove
/// all entries: a body without it is an error.
pub(crate) fn parse_replacement(
    body: &Map<String, Value>,
) -> Result<BTreeMap<String, String>, HttpError> {
    match body.get("metadata") {
        None => Err(invalid_metadata(
            "metadata",
            "is missing; send an object of strings, or null to remove all entries",
        )),
        metadata => parse(metadata),
    }
}

fn parse_entry((key, value): (&String, &Value)) -> Result<(String, String), HttpError> {
    let param = format!("metadata.{}", prowess_wire::excerpt(key));
    if key.chars().count() > MAX_KEY_CHARS {
        return Err(invalid_metadata(
            &param,
            "the key must not exceed 64 characters",
        ));
    }
    match value {
        Value::String(text) if text.chars().count() <= MAX_VALUE_CHARS => {
            Ok((key.clone(), text.clone()))
        }
        Value::String(_) => Err(invalid_metadata(&param, "must not exceed 512 characters")),
        _ => Err(invalid_metadata(&param, "must be a string")),
    }
}

/// `metadata` as JSON.
pub(crate) fn to_json(metadata: &BTreeMap<String, String>) -> Value {
    let own = |(key, value): (&String, &String)| (key.clone(), Value::from(value.as_str()));
    Value::Object(metadata.iter().map(own).collect::<Map<_, _>>())
}

fn invalid_metadata(param: &str, what: &str) -> HttpError {
    HttpError::bad_request("metadata-invalid", format!("{param}: {what}"))
        .with_detail("param", param)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn notes_are_short_and_few() {
        assert!(parse(None).unwrap().is_empty());
        let notes = parse(Some(&json!({"a": "b"}))).unwrap();
        assert_eq!(to_json(&notes), json!({"a": "b"}));
        let many: Map<String, Value> = (0..17).map(|n| (n.to_string(), "".into())).collect();
        for bad in [
            json!("a"),
            json!({"a": 1}),
            json!({ "k".repeat(65): "" }),
            json!({ "k": "v".repeat(513) }),
            Value::Object(many),
        ] {
            assert_eq!(parse(Some(&bad)).unwrap_err().code, "metadata-invalid");
        }
    }
}
