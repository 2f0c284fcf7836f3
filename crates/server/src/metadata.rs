//! `metadata`, as OpenAI's objects have it: a few short notes of the client's.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::ApiError;

const MAX_PAIRS: usize = 16;
const MAX_KEY: usize = 64;
const MAX_VALUE: usize = 512;

/// Reads `metadata`; nothing and null are no notes.
pub(crate) fn read(metadata: Option<&Value>) -> Result<BTreeMap<String, String>, ApiError> {
    let fields = match metadata {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err(invalid("metadata", "must be an object of strings")),
    };
    if fields.len() > MAX_PAIRS {
        return Err(invalid("metadata", "may have 16 entries"));
    }
    fields.iter().map(pair).collect()
}

/// Reads the `metadata` that takes the place of what was noted before. Only null and an
/// empty object remove all of it: a body that leaves it out means something else.
pub(crate) fn read_replacement(
    body: &Map<String, Value>,
) -> Result<BTreeMap<String, String>, ApiError> {
    match body.get("metadata") {
        None => Err(invalid(
            "metadata",
            "is missing; send an object of strings, or null to remove all entries",
        )),
        metadata => read(metadata),
    }
}

fn pair((key, value): (&String, &Value)) -> Result<(String, String), ApiError> {
    let param = format!("metadata.{}", prowess_wire::excerpt(key));
    if key.chars().count() > MAX_KEY {
        return Err(invalid(&param, "the key may have 64 characters"));
    }
    match value {
        Value::String(text) if text.chars().count() <= MAX_VALUE => Ok((key.clone(), text.clone())),
        Value::String(_) => Err(invalid(&param, "may have 512 characters")),
        _ => Err(invalid(&param, "must be a string")),
    }
}

/// Notes as JSON.
pub(crate) fn write(metadata: &BTreeMap<String, String>) -> Value {
    let own = |(key, value): (&String, &String)| (key.clone(), Value::from(value.as_str()));
    Value::Object(metadata.iter().map(own).collect::<Map<_, _>>())
}

fn invalid(param: &str, what: &str) -> ApiError {
    ApiError::bad_request("metadata-invalid", format!("{param}: {what}")).with("param", param)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn notes_are_short_and_few() {
        assert!(read(None).unwrap().is_empty());
        let notes = read(Some(&json!({"a": "b"}))).unwrap();
        assert_eq!(write(&notes), json!({"a": "b"}));
        let many: Map<String, Value> = (0..17).map(|n| (n.to_string(), "".into())).collect();
        for bad in [
            json!("a"),
            json!({"a": 1}),
            json!({ "k".repeat(65): "" }),
            json!({ "k": "v".repeat(513) }),
            Value::Object(many),
        ] {
            assert_eq!(read(Some(&bad)).unwrap_err().code, "metadata-invalid");
        }
    }
}
