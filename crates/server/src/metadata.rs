//! `metadata`, as OpenAI's objects have it: a few short notes of the client's.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::HttpError;

const MAX_ENTRIES: usize = 16;
const MAX_KEY_CHARS: usize = 64;
const MAX_VALUE_CHARS: usize = 512;

/// Reads `metadata`; nothing and null are no notes.
pub(crate) fn parse(metadata: Option<&Value>) -> Result<BTreeMap<String, String>, HttpError> {
    let fields = match metadata {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err(invalid_metadata("metadata", "must be an object of strings")),
    };
    if fields.len() > MAX_ENTRIES {
        return Err(invalid_metadata("metadata", "may have 16 entries"));
    }
    fields.iter().map(parse_entry).collect()
}

/// Reads the `metadata` that takes the place of what was noted before. Only null and an
/// empty object remove all of it: a body that leaves it out means something else.
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
        return Err(invalid_metadata(&param, "the key may have 64 characters"));
    }
    match value {
        Value::String(text) if text.chars().count() <= MAX_VALUE_CHARS => {
            Ok((key.clone(), text.clone()))
        }
        Value::String(_) => Err(invalid_metadata(&param, "may have 512 characters")),
        _ => Err(invalid_metadata(&param, "must be a string")),
    }
}

/// Notes as JSON.
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
