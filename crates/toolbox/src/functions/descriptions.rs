//! Descriptions of a skill's functions from the driver, checked: they come from the
//! sandbox and are untrusted.

use crate::model_text;
use crate::text::cut_end;
use serde_json::Value;

/// Maximum number of functions of one skill.
const MAX_FUNCTIONS: usize = 64;

/// Longest name, description and schema of one.
const MAX_NAME_BYTES: usize = 64;
const MAX_DESCRIPTION_BYTES: usize = 1024;
const MAX_SCHEMA_BYTES: usize = 16 << 10;

/// A function that becomes a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PythonFunction {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) input_schema: Value,
}

impl PythonFunction {
    /// Approximate length of its texts.
    pub(super) fn text_bytes(&self) -> usize {
        let texts = self.name.len() + self.description.len();
        texts + self.input_schema.to_string().len()
    }
}

/// Reads a list of name, description and schema.
///
/// # Errors
/// The first problem.
pub(super) fn parse_functions(text: &str) -> Result<Vec<PythonFunction>, String> {
    let all: Vec<(String, String, Value)> =
        serde_json::from_str(text).map_err(|_| model_text::DESCRIPTIONS_TOO_LONG.to_owned())?;
    if all.is_empty() {
        return Err(model_text::NO_FUNCTIONS.into());
    }
    if all.len() > MAX_FUNCTIONS {
        return Err(model_text::too_many_functions(all.len(), MAX_FUNCTIONS));
    }
    all.into_iter().map(check_function).collect()
}

fn check_function(
    (name, description, input_schema): (String, String, Value),
) -> Result<PythonFunction, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(plain) {
        let name = cut_end(&name, MAX_NAME_BYTES);
        return Err(model_text::wrong_function_name(&name));
    }
    let is_object = input_schema.get("type") == Some(&Value::from("object"));
    if !is_object || input_schema.to_string().len() > MAX_SCHEMA_BYTES {
        return Err(model_text::wrong_function_schema(&name));
    }
    let description = match description.trim() {
        "" => format!("Calls `{name}`."),
        text => cut_end(text, MAX_DESCRIPTION_BYTES),
    };
    Ok(PythonFunction {
        name,
        description,
        input_schema,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sandbox_claims_of_its_functions_is_not_believed_unseen() {
        for (text, why) in [
            ("nonsense", "too long"),
            ("[]", "@tool"),
            (r#"[["a b", "", {"type": "object"}]]"#, "cannot be the name"),
            (r#"[["a", "", {"type": "string"}]]"#, "no schema"),
        ] {
            let error = parse_functions(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let read = parse_functions(r#"[["a", " ", {"type": "object"}]]"#).unwrap();
        assert_eq!(read[0].description, "Calls `a`.");
    }
}
