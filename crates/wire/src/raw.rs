//! A JSON object as its raw bytes: read a few fields, change one, keep the rest.
//!
//! For pass-through. A request that is only forwarded must arrive byte for byte,
//! so values are never parsed further than their outer bounds. A decision by a field
//! holds for the upstream only if both read the same one: see
//! [`RawObject::check_unique`].

mod google;
mod unique;

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::WireError;

/// More fields than any request has. Each needs more memory than it has bytes.
const MAX_FIELDS: usize = 1_024;

/// The top level of a JSON object: its keys in order, their values unparsed.
#[derive(Debug)]
pub struct RawObject<'a> {
    body: &'a [u8],
    fields: Vec<(Cow<'a, str>, &'a RawValue)>,
}

/// One field of an object as its JSON text. Everything else is only validated as JSON,
/// which needs half the time of indexing every field.
pub fn field<'a>(body: &'a [u8], name: &str) -> Result<Option<&'a str>, WireError> {
    let Ok(text) = std::str::from_utf8(body) else {
        // This error has the position of the invalid byte.
        return RawObject::parse(body).map(|raw| raw.get(name));
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let found = json.deserialize_map(OneField(name));
    let found = found.and_then(|found| json.end().map(|()| found));
    let value = found.map_err(|error| WireError::not_json(&error))?;
    Ok(value.map(RawValue::get))
}

struct OneField<'n>(&'n str);

impl<'de> Visitor<'de> for OneField<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(Key(key)) = map.next_key()? {
            // Of a repeated key the last counts, as in most parsers.
            if key == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// A change of one top-level field.
#[derive(Debug, Clone, Copy)]
pub enum Edit<'e> {
    /// Sets a field to JSON text, in place if it exists, else at the end.
    Set(&'e str, &'e str),
    /// Takes a field out.
    Remove(&'e str),
}

/// The fields of a request that routing needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingFields {
    /// The model, when it is a string.
    pub model: Option<String>,
    /// Whether the response is to be streamed.
    pub stream: bool,
    /// Whether there is a `container` that is not null.
    pub container: bool,
}

impl<'a> RawObject<'a> {
    /// Finds the fields of a body.
    pub fn parse(body: &'a [u8]) -> Result<Self, WireError> {
        // Checked once here, and not again for each value.
        let parsed = match std::str::from_utf8(body) {
            Ok(text) => serde_json::from_str(text),
            // This error has the position of the invalid byte.
            Err(_) => serde_json::from_slice(body),
        };
        let Fields(fields) = parsed.map_err(|error| WireError::not_json(&error))?;
        Ok(RawObject { body, fields })
    }

    /// The whole body.
    pub(crate) fn text(&self) -> Option<&'a str> {
        std::str::from_utf8(self.body).ok()
    }

    /// A field's JSON text. Of a repeated key the last counts, as in most parsers.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.fields
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.get())
    }

    /// A field's string.
    pub fn get_str(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.get(key)?).ok()
    }

    /// Whether a field is this string, however it is written.
    pub fn is_str(&self, key: &str, value: &str) -> bool {
        let text = self.get(key).map(serde_json::from_str::<Key<'_>>);
        matches!(text, Some(Ok(Key(text))) if text == value)
    }

    /// The fields that routing needs.
    pub fn routing_fields(&self) -> RoutingFields {
        RoutingFields {
            model: self.get_str("model"),
            stream: self.get("stream") == Some("true"),
            container: self.get("container").is_some_and(|value| value != "null"),
        }
    }

    /// The body with one string field set and every other byte as it was.
    pub fn with_str(&self, key: &str, value: &str) -> Vec<u8> {
        self.with_edits(&[Edit::Set(key, &to_json(value))])
    }

    /// The body with fields changed. Fields that only change their value are replaced
    /// in place; otherwise the outer braces are written anew around the raw values.
    pub fn with_edits(&self, edits: &[Edit<'_>]) -> Vec<u8> {
        let in_place = edits
            .iter()
            .all(|edit| matches!(edit, Edit::Set(key, _) if self.get(key).is_some()));
        if in_place {
            self.spliced(edits)
        } else {
            self.rebuilt(edits)
        }
    }

    fn spliced(&self, edits: &[Edit<'_>]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.body.len() + 64);
        let mut copied = 0;
        for (key, value) in &self.fields {
            let Some(json) = set_value(edits, key) else {
                continue;
            };
            // The raw value borrows from the body, so its address gives its position.
            let start = (value.get().as_ptr() as usize) - (self.body.as_ptr() as usize);
            out.extend_from_slice(self.body.get(copied..start).unwrap_or_default());
            out.extend_from_slice(json.as_bytes());
            copied = start + value.get().len();
        }
        out.extend_from_slice(self.body.get(copied..).unwrap_or_default());
        out
    }

    fn rebuilt(&self, edits: &[Edit<'_>]) -> Vec<u8> {
        let kept = self.fields.iter().filter(|(key, _)| {
            !edits
                .iter()
                .any(|edit| matches!(edit, Edit::Remove(name) if name == key))
        });
        let kept = kept.map(|(key, value)| {
            (
                key.as_ref(),
                set_value(edits, key).unwrap_or_else(|| value.get()),
            )
        });
        let added = edits.iter().filter_map(|edit| match edit {
            Edit::Set(key, json) if self.get(key).is_none() => Some((*key, *json)),
            _ => None,
        });
        let mut out = Vec::with_capacity(self.body.len() + 64);
        for (key, json) in kept.chain(added) {
            out.push(if out.is_empty() { b'{' } else { b',' });
            out.extend_from_slice(to_json(key).as_bytes());
            out.push(b':');
            out.extend_from_slice(json.as_bytes());
        }
        if out.is_empty() {
            out.push(b'{');
        }
        out.push(b'}');
        out
    }
}

fn set_value<'e>(edits: &[Edit<'e>], key: &str) -> Option<&'e str> {
    edits.iter().find_map(|edit| match edit {
        Edit::Set(name, json) if *name == key => Some(*json),
        _ => None,
    })
}

/// A text as JSON.
fn to_json(text: &str) -> String {
    // Writing a text to memory cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}

struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A text that is copied only if it has escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(16);
                while let Some((Key(key), value)) = map.next_entry()? {
                    if fields.len() == MAX_FIELDS {
                        let why = format_args!("more than {MAX_FIELDS} fields");
                        return Err(A::Error::custom(why));
                    }
                    fields.push((key, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BODY: &str = "{ \"model\" : \"a\",\n \"big\": 12345678901234567890123, \"x\": {\"model\": 1.0},\t\"stream\":true}\n";

    #[test]
    fn a_new_model_name_changes_no_other_byte() {
        let raw = RawObject::parse(BODY.as_bytes()).unwrap();
        let out = raw.with_str("model", "acme \"1\"");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            BODY.replace("\"a\"", r#""acme \"1\"""#)
        );
    }

    #[test]
    fn a_peek_sees_what_routing_needs() {
        let body = br#"{"model":"m\u0031","stream":true,"container":null}"#;
        assert_eq!(
            RawObject::parse(body).unwrap().routing_fields(),
            RoutingFields {
                model: Some("m1".to_owned()),
                stream: true,
                container: false,
            }
        );
    }

    #[test]
    fn fields_are_removed_and_added_around_untouched_values() {
        let raw = RawObject::parse(BODY.as_bytes()).unwrap();
        let out = raw.with_edits(&[
            Edit::Remove("model"),
            Edit::Remove("stream"),
            Edit::Set("anthropic_version", "\"v\""),
        ]);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"big":12345678901234567890123,"x":{"model": 1.0},"anthropic_version":"v"}"#
        );
        let none = RawObject::parse(b"{\"a\":1}")
            .unwrap()
            .with_edits(&[Edit::Remove("a")]);
        assert_eq!(none, b"{}");
    }

    #[test]
    fn of_a_repeated_key_all_are_replaced_and_the_last_is_read() {
        let raw = RawObject::parse(br#"{"model":"a","model":"b"}"#).unwrap();
        assert_eq!(raw.get_str("model").as_deref(), Some("b"));
        assert_eq!(raw.with_str("model", "c"), br#"{"model":"c","model":"c"}"#);
    }

    #[test]
    fn one_field_is_found_and_the_rest_is_checked() {
        let body = br#"{"usage":1,"x":[{"usage":2}],"us\u0061ge":{"a":3}} "#;
        assert_eq!(field(body, "usage").unwrap(), Some(r#"{"a":3}"#));
        assert_eq!(field(body, "y").unwrap(), None);
        for bad in [
            &br#"{"a":1,"usage":2"#[..],
            b"{\"a\":tru}",
            b"[]",
            b"{} {}",
            b"{\"a\":\"\xff\"}",
        ] {
            assert_eq!(field(bad, "usage").unwrap_err().code(), "invalid-json");
        }
    }

    #[test]
    fn a_field_is_compared_with_a_text_in_any_spelling() {
        let body = br#"{"model":"m\u0031","other":"m1","number":1}"#;
        let raw = RawObject::parse(body).unwrap();
        assert!(raw.is_str("model", "m1") && raw.is_str("other", "m1"));
        for (key, value) in [("model", "m2"), ("number", "1"), ("missing", "m1")] {
            assert!(!raw.is_str(key, value), "{key}");
        }
    }

    #[test]
    fn a_body_that_is_no_object_is_refused_with_its_place() {
        let error = RawObject::parse(b"[1]").unwrap_err();
        assert_eq!(error.code(), "invalid-json");
        assert!(error.to_string().contains("line 1"), "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            assert_eq!(field(&bytes, "x").is_ok(), RawObject::parse(&bytes).is_ok());
            if let Ok(raw) = RawObject::parse(&bytes) {
                let _ = raw.with_str("model", "x");
            }
        }
    }
}
