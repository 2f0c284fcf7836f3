//! Fields of a Gemini request, which have two names each: `generationConfig`, and
//! `generation_config`.

use super::RawObject;
use crate::camel_case::camel;
use crate::error::WireError;

/// Checked one level deeper: it holds the limit of the response.
const SETTINGS: &str = "generationConfig";

impl<'a> RawObject<'a> {
    /// A field's JSON text, whichever of its names it has.
    pub fn get_camel_or_snake(&self, key: &str) -> Option<&'a str> {
        let mut fields = self.fields.iter().rev();
        let found = fields.find(|(name, _)| camel(name) == key);
        found.map(|(_, value)| value.get())
    }

    /// The settings of a Gemini request.
    ///
    /// # Errors
    /// When they are no object.
    pub fn settings(&self) -> Result<Option<RawObject<'a>>, WireError> {
        match self.get_camel_or_snake(SETTINGS) {
            None | Some("null") => Ok(None),
            Some(json) => RawObject::parse(json.as_bytes()).map(Some),
        }
    }

    /// Refuses a Gemini request in which a field is there under both of its names, or
    /// twice among its settings.
    pub fn check_unique_names(&self) -> Result<(), WireError> {
        self.check_names("")?;
        match self.get_camel_or_snake(SETTINGS) {
            Some(json) if json.starts_with('{') => {
                let settings = RawObject::parse(json.as_bytes())?;
                settings.check_names("generationConfig.")
            }
            _ => Ok(()),
        }
    }

    fn check_names(&self, path: &str) -> Result<(), WireError> {
        let mut names: Vec<String> = self
            .fields
            .iter()
            .map(|(name, _)| camel(name).to_lowercase())
            .collect();
        names.sort_unstable();
        let pairs = names.iter().zip(names.iter().skip(1));
        let mut same = pairs.filter(|(one, next)| one == next);
        match same.next() {
            None => Ok(()),
            Some((name, _)) => Err(WireError::Repeated {
                field: format!("{path}{name}"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_either_name_and_refused_under_both() {
        let body = br#"{"generation_config":{"max_output_tokens":5},"contents":[]}"#;
        let raw = RawObject::parse(body).unwrap();
        raw.check_unique_names().unwrap();
        let settings = raw.settings().unwrap().unwrap();
        assert_eq!(settings.get_camel_or_snake("maxOutputTokens"), Some("5"));
        for (body, field) in [
            (r#"{"tool_config":{},"toolConfig":{}}"#, "toolconfig"),
            (
                r#"{"generationConfig":{"maxOutputTokens":1,"max_output_tokens":9}}"#,
                "generationConfig.maxoutputtokens",
            ),
            (
                r#"{"generation_config":{"topK":1,"topK":9}}"#,
                "generationConfig.topk",
            ),
        ] {
            let raw = RawObject::parse(body.as_bytes()).unwrap();
            let error = raw.check_unique_names().unwrap_err();
            assert_eq!(error.field(), Some(field), "{body}");
        }
    }
}
