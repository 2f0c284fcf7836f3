//! Form fields that describe a skill without files, as sent by LiteLLM's clients.

use prowess_wire::excerpt;
use serde_json::{Map, Value};

use super::text;
use crate::error::HttpError;

/// Maximum length of `instructions`: as long as an uploaded SKILL.md may be.
const MAX_INSTRUCTIONS_BYTES: usize = 1 << 20;
/// Maximum number of `metadata` entries.
const MAX_METADATA_ENTRIES: usize = 64;

/// `description`, `instructions` and `metadata`. An empty value counts as not sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SkillFields {
    pub(crate) description: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) metadata: Map<String, Value>,
}

impl SkillFields {
    /// Maximum length of one of these fields; none for any other field.
    pub(super) fn max_bytes(name: &str) -> Option<usize> {
        match name {
            "instructions" => Some(MAX_INSTRUCTIONS_BYTES),
            "description" | "metadata" => Some(text::MAX_TEXT_BYTES),
            _ => metadata_key(name).map(|_| text::MAX_TEXT_BYTES),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.description.is_none() && self.instructions.is_none() && self.metadata.is_empty()
    }

    /// The name of the first field that was sent.
    pub(crate) fn first_present(&self) -> Option<&'static str> {
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

    /// Sets a field; returns false if it is not one of these.
    pub(super) fn set_field(&mut self, name: &str, value: &str) -> Result<bool, HttpError> {
        let Some(limit) = SkillFields::max_bytes(name) else {
            return Ok(false);
        };
        if value.len() > limit {
            return Err(text::invalid_field(
                name,
                &format!("is longer than {limit} bytes"),
            ));
        }
        match name {
            "description" => set_once(&mut self.description, name, value)?,
            "instructions" => set_once(&mut self.instructions, name, value)?,
            "metadata" => {
                for (key, value) in parse_metadata(value)? {
                    self.add_metadata(&key, value)?;
                }
            }
            _ => {
                if let Some(key) = metadata_key(name) {
                    self.add_metadata(key, value.into())?;
                }
            }
        }
        Ok(true)
    }

    fn add_metadata(&mut self, key: &str, value: Value) -> Result<(), HttpError> {
        if self.metadata.len() >= MAX_METADATA_ENTRIES {
            let why = format!("has more than {MAX_METADATA_ENTRIES} entries");
            return Err(text::invalid_field("metadata", &why));
        }
        if self.metadata.insert(key.to_owned(), value).is_some() {
            let why = format!("`{}` was sent twice; send it once", excerpt(key));
            return Err(text::invalid_field("metadata", &why));
        }
        Ok(())
    }
}

/// The key of an entry sent as its own field: `metadata[key]`.
fn metadata_key(name: &str) -> Option<&str> {
    let key = name.strip_prefix("metadata[")?.strip_suffix(']')?;
    (!key.is_empty()).then_some(key)
}

fn set_once(field: &mut Option<String>, name: &str, value: &str) -> Result<(), HttpError> {
    if value.trim().is_empty() {
        return Ok(());
    }
    match field.replace(value.to_owned()) {
        Some(_) => Err(text::invalid_field(name, "was sent twice; send it once")),
        None => Ok(()),
    }
}

fn parse_metadata(value: &str) -> Result<Map<String, Value>, HttpError> {
    if value.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(value) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        _ => Err(text::invalid_field(
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
                .set_field("metadata", r#"{"a": "1", "b": {"c": 2}}"#)
                .unwrap()
        );
        assert!(fields.set_field("metadata[d]", "3").unwrap());
        assert_eq!(
            Value::Object(fields.metadata.clone()),
            serde_json::json!({"a": "1", "b": {"c": 2}, "d": "3"})
        );
        assert!(fields.set_field("metadata[a]", "again").is_err());
        for wrong in ["[]", "no", "3"] {
            assert!(SkillFields::default().set_field("metadata", wrong).is_err());
        }
        for none in ["", "null", "{}"] {
            let mut fields = SkillFields::default();
            assert!(fields.set_field("metadata", none).unwrap() && fields.is_empty());
        }
        for other in ["metadata[]", "metadata[a", "meta", "descriptions"] {
            assert!(
                !SkillFields::default().set_field(other, "x").unwrap(),
                "{other}"
            );
        }
    }

    #[test]
    fn a_field_is_there_once_and_not_too_long() {
        let mut fields = SkillFields::default();
        assert!(fields.set_field("description", "  ").unwrap() && fields.is_empty());
        assert!(fields.set_field("description", "x").unwrap());
        assert_eq!(fields.first_present(), Some("description"));
        assert!(fields.set_field("description", "y").is_err());
        let long = "x".repeat(MAX_INSTRUCTIONS_BYTES);
        assert!(fields.set_field("instructions", &long).unwrap());
        let long = "x".repeat(text::MAX_TEXT_BYTES + 1);
        assert!(fields.set_field("metadata[k]", &long).is_err());
    }
}
