//! Reads typed fields of a JSON object, with the path of every fault.
//!
//! Every reader of the crate uses it: fields that are read are typed, the others are
//! returned by [`JsonFields::rest`], so no unknown field is ever lost.

use serde_json::{Map, Number, Value};

use crate::error::WireError;
use crate::json_path::JsonPath;
use crate::parsed_size::{MAX_PARSED_EXCESS, parsed_excess};

/// An object being read, field by field.
pub(crate) struct JsonFields<'p> {
    map: Map<String, Value>,
    path: &'p JsonPath<'p>,
}

impl<'p> JsonFields<'p> {
    pub(crate) fn from_value(value: Value, path: &'p JsonPath<'p>) -> Result<Self, WireError> {
        Ok(JsonFields {
            map: object(value, path)?,
            path,
        })
    }

    pub(crate) fn path(&self) -> &'p JsonPath<'p> {
        self.path
    }

    /// A field, left where it is.
    pub(crate) fn peek(&self, key: &str) -> Option<&Value> {
        self.map.get(key)
    }

    /// Takes a field; `null` counts as absent, as it does on every vendor's side.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.map.shift_remove(key).filter(|value| !value.is_null())
    }

    pub(crate) fn require(&mut self, key: &str) -> Result<Value, WireError> {
        self.take(key).ok_or_else(|| WireError::Missing {
            field: self.path.key(key).to_string(),
        })
    }

    pub(crate) fn string(&mut self, key: &str) -> Result<String, WireError> {
        let value = self.require(key)?;
        string(value, &self.path.key(key))
    }

    pub(crate) fn opt_string(&mut self, key: &str) -> Result<Option<String>, WireError> {
        self.take(key)
            .map(|value| string(value, &self.path.key(key)))
            .transpose()
    }

    pub(crate) fn opt_bool(&mut self, key: &str) -> Result<Option<bool>, WireError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(wrong_value(&self.path.key(key), "a boolean", &other)),
        }
    }

    pub(crate) fn opt_u64(&mut self, key: &str) -> Result<Option<u64>, WireError> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => as_whole_number(&value)
                .map(Some)
                .ok_or_else(|| wrong_value(&self.path.key(key), "a whole number", &value)),
        }
    }

    pub(crate) fn opt_number(&mut self, key: &str) -> Result<Option<Number>, WireError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Number(value)) => Ok(Some(value)),
            Some(other) => Err(wrong_value(&self.path.key(key), "a number", &other)),
        }
    }

    pub(crate) fn list(&mut self, key: &str) -> Result<Vec<Value>, WireError> {
        let value = self.require(key)?;
        list(value, &self.path.key(key))
    }

    pub(crate) fn opt_list(&mut self, key: &str) -> Result<Option<Vec<Value>>, WireError> {
        self.take(key)
            .map(|value| list(value, &self.path.key(key)))
            .transpose()
    }

    /// Adds a field that was read from somewhere inside, so that `rest` has it.
    pub(crate) fn put(&mut self, key: &str, value: Value) {
        self.map.insert(key.to_owned(), value);
    }

    /// Unknown fields of an object inside stay where they were.
    pub(crate) fn keep(&mut self, key: &str, inner: JsonFields<'_>) {
        if !inner.map.is_empty() {
            self.map.insert(key.to_owned(), Value::Object(inner.map));
        }
    }

    /// The fields that were not read, in their original order.
    pub(crate) fn rest(self) -> Map<String, Value> {
        self.map
    }
}

/// Some clients and servers write counts as `1.0`; that is still a whole number.
pub(crate) fn as_whole_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        let fits = float >= 0.0 && float.fract() == 0.0 && float < 9_007_199_254_740_992.0;
        fits.then_some(float as u64)
    })
}

pub(crate) fn string(value: Value, path: &JsonPath<'_>) -> Result<String, WireError> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong_value(path, "a string", &other)),
    }
}

pub(crate) fn list(value: Value, path: &JsonPath<'_>) -> Result<Vec<Value>, WireError> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(wrong_value(path, "a list", &other)),
    }
}

pub(crate) fn object(value: Value, path: &JsonPath<'_>) -> Result<Map<String, Value>, WireError> {
    match value {
        Value::Object(map) => Ok(map),
        other => Err(wrong_value(path, "an object", &other)),
    }
}

pub(crate) fn wrong_value(path: &JsonPath<'_>, expected: &'static str, found: &Value) -> WireError {
    WireError::WrongValue {
        field: path.to_string(),
        expected,
        found: describe(found),
    }
}

/// A short description of a value; request content does not belong in an error message.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::String(text) if text.len() <= 40 => format!("{text:?}"),
        Value::String(text) => format!("a string of {} bytes", text.len()),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Bytes of a body that cannot have too many values.
const SMALL_BODY_BYTES: usize = 1 << 20;

/// Parses a body, naming line and column when it is not JSON. One whose values would take too much
/// memory is an error.
pub fn parse(body: &[u8]) -> Result<Value, WireError> {
    if body.len() > SMALL_BODY_BYTES && parsed_excess(body) > MAX_PARSED_EXCESS {
        return Err(WireError::TooManyValues);
    }
    serde_json::from_slice(body).map_err(|error| WireError::not_json(&error))
}

/// The most excess of JSON that is encoded in a text.
const MAX_ENCODED_EXCESS: usize = 1 << 20;

/// Parses JSON that was encoded in a text, so that it does not count with the body that has the
/// text. None if it is not JSON, or has more values than what is encoded so ever has.
pub(crate) fn parse_encoded(json: &[u8]) -> Option<Value> {
    if parsed_excess(json) > MAX_ENCODED_EXCESS {
        return None;
    }
    serde_json::from_slice(json).ok()
}

/// Adds a field only when there is a value.
pub(crate) fn put(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}
