//! Reads objects and lists as Google's servers do: fields in either spelling, and a single
//! item in place of a list.

use serde_json::Value;

use crate::camel_case::camel;
use crate::error::WireError;
use crate::fields::{JsonFields, object};
use crate::json_path::JsonPath;
use crate::neutral::Map;

/// An object being read, whichever way its fields are written. A field that is there in
/// both spellings is refused.
pub(super) fn fields<'p>(
    value: Value,
    path: &'p JsonPath<'p>,
) -> Result<JsonFields<'p>, WireError> {
    let map = object(value, path)?;
    if !map.keys().any(|key| key.contains('_')) {
        return JsonFields::from_value(Value::Object(map), path);
    }
    let mut named = Map::with_capacity(map.len());
    for (key, value) in map {
        let name = camel(&key).into_owned();
        if named.contains_key(&name) {
            let field = path.key(&name).to_string();
            return Err(WireError::Repeated { field });
        }
        named.insert(name, value);
    }
    JsonFields::from_value(Value::Object(named), path)
}

/// A list, or a single item: Google's servers accept both.
pub(super) fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        one => vec![one],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_spellings_are_read_and_not_at_once() {
        let root = JsonPath::Root;
        let both = json!({"top_p": 1, "maxOutputTokens": 2});
        let rest = fields(both, &root).unwrap().rest();
        assert_eq!(
            Value::Object(rest),
            json!({"topP": 1, "maxOutputTokens": 2})
        );
        let twice = fields(json!({"top_p": 1, "topP": 1}), &root).err().unwrap();
        assert_eq!(
            (twice.code(), twice.field()),
            ("repeated-field", Some("topP"))
        );
    }
}
