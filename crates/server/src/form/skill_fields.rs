//! What a form says of a skill without files: the fields by which LiteLLM's clients make
//! one.

use prowess_wire::excerpt;
use serde_json::{Map, Value};

use super::text;
use crate::error::ApiError;

/// The longest `instructions`. They may be as long as a SKILL.md of files.
const MAX_INSTRUCTIONS: usize = 1 << 20;
/// The most entries of `metadata`.
const MAX_ENTRIES: usize = 64;

/// `description`, `instructions` and `metadata`. What is empty counts as not sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SkillFields {
    pub(crate) description: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) metadata: Map<String, Value>,
}

impl SkillFields {
    /// How long one of these fields may be; none for a field of another name.
    pub(super) fn max_bytes(name: &str) -> Option<usize> {
        match name {
            "instructions" => Some(MAX_INSTRUCTIONS),
            "description" | "metadata" => Some(text::MAX_TEXT),
            _ => entry(name).map(|_| text::MAX_TEXT),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.description.is_none() && self.instructions.is_none() && self.metadata.is_empty()
    }

    /// The name of a field that was sent, if one was.
    pub(crate) fn first(&self) -> Option<&'static str> {
        if self.description.is_some() {
            Some("description")
        } else if self.instructions.is_some() {
            Some("instructions")
        } else if self.metadata.is_empty() {
            None
        } else {
            Some("metadata")
        }
    }

    /// Takes a field, if it is one of these.
    pub(super) fn take(&mut self, name: &str, value: &str) -> Result<bool, ApiError> {
        let Some(limit) = SkillFields::max_bytes(name) else {
            return Ok(false);
        };
        if value.len() > limit {
            return Err(text::invalid(
                name,
                &format!("is longer than {limit} bytes"),
            ));
        }
        match name {
            "description" => set(&mut self.description, name, value)?,
            "instructions" => set(&mut self.instructions, name, value)?,
            "metadata" => {
                for (key, value) in object(value)? {
                    self.note(&key, value)?;
                }
            }
            _ => {
                if let Some(key) = entry(name) {
                    self.note(key, value.into())?;
                }
            }
        }
        Ok(true)
    }

    fn note(&mut self, key: &str, value: Value) -> Result<(), ApiError> {
        if self.metadata.len() >= MAX_ENTRIES {
            let why = format!("has more than {MAX_ENTRIES} entries");
            return Err(text::invalid("metadata", &why));
        }
        if self.metadata.insert(key.to_owned(), value).is_some() {
            let why = format!("`{}` is there twice; send it once", excerpt(key));
            return Err(text::invalid("metadata", &why));
        }
        Ok(())
    }
}

/// The key of an entry that is a field of its own: `metadata[key]`.
fn entry(name: &str) -> Option<&str> {
    let key = name.strip_prefix("metadata[")?.strip_suffix(']')?;
    (!key.is_empty()).then_some(key)
}

fn set(place: &mut Option<String>, name: &str, value: &str) -> Result<(), ApiError> {
    if value.trim().is_empty() {
        return Ok(());
    }
    match place.replace(value.to_owned()) {
        Some(_) => Err(text::invalid(name, "is there twice; send it once")),
        None => Ok(()),
    }
}

fn object(value: &str) -> Result<Map<String, Value>, ApiError> {
    if value.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(value) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        _ => Err(text::invalid(
            "metadata",
            "is not a JSON object; write it as {\"key\": \"value\"}",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_an_object_or_one_field_for_each_entry() {
        let mut fields = SkillFields::default();
        assert!(
            fields
                .take("metadata", r#"{"a": "1", "b": {"c": 2}}"#)
                .unwrap()
        );
        assert!(fields.take("metadata[d]", "3").unwrap());
        assert_eq!(
            Value::Object(fields.metadata.clone()),
            serde_json::json!({"a": "1", "b": {"c": 2}, "d": "3"})
        );
        assert!(fields.take("metadata[a]", "again").is_err());
        for wrong in ["[]", "no", "3"] {
            assert!(SkillFields::default().take("metadata", wrong).is_err());
        }
        for none in ["", "null", "{}"] {
            let mut fields = SkillFields::default();
            assert!(fields.take("metadata", none).unwrap() && fields.is_empty());
        }
        for other in ["metadata[]", "metadata[a", "meta", "descriptions"] {
            assert!(!SkillFields::default().take(other, "x").unwrap(), "{other}");
        }
    }

    #[test]
    fn a_field_is_there_once_and_not_too_long() {
        let mut fields = SkillFields::default();
        assert!(fields.take("description", "  ").unwrap() && fields.is_empty());
        assert!(fields.take("description", "x").unwrap());
        assert_eq!(fields.first(), Some("description"));
        assert!(fields.take("description", "y").is_err());
        let long = "x".repeat(MAX_INSTRUCTIONS);
        assert!(fields.take("instructions", &long).unwrap());
        let long = "x".repeat(text::MAX_TEXT + 1);
        assert!(fields.take("metadata[k]", &long).is_err());
    }
}
