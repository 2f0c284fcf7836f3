//! What the driver says of a skill's functions, checked: it comes from the sandbox, and
//! so from anyone.

use crate::text::cut_end;
use serde_json::Value;

/// Most functions of one skill.
const MOST: usize = 64;

/// Longest name, description and schema of one.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;
const LONGEST_SCHEMA: usize = 16 << 10;

/// A function that becomes a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) input_schema: Value,
}

impl Function {
    /// How long its texts are, about.
    pub(super) fn bytes(&self) -> usize {
        let texts = self.name.len() + self.description.len();
        texts + self.input_schema.to_string().len()
    }
}

/// Reads a list of name, description and schema.
///
/// # Errors
/// What is wrong with the first that is.
pub(super) fn read(text: &str) -> Result<Vec<Function>, String> {
    let all: Vec<(String, String, Value)> = serde_json::from_str(text)
        .map_err(|_| "its tools describe themselves in more text than fits".to_owned())?;
    if all.is_empty() {
        return Err(
            "it has none; decorate functions with @tool, or define build_tools(ctx)".into(),
        );
    }
    if all.len() > MOST {
        return Err(format!(
            "it has {} tools, and {MOST} is the most",
            all.len()
        ));
    }
    all.into_iter().map(check).collect()
}

fn check((name, description, input_schema): (String, String, Value)) -> Result<Function, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        let name = cut_end(&name, LONGEST_NAME);
        return Err(format!(
            "{name:?} cannot be the name of a tool: use up to 64 letters, digits, `_` and `-`"
        ));
    }
    let is_object = input_schema.get("type") == Some(&Value::from("object"));
    if !is_object || input_schema.to_string().len() > LONGEST_SCHEMA {
        return Err(format!(
            "the arguments of `{name}` have no schema of at most 16 KiB"
        ));
    }
    let description = match description.trim() {
        "" => format!("Calls `{name}`."),
        said => cut_end(said, LONGEST_DESCRIPTION),
    };
    Ok(Function {
        name,
        description,
        input_schema,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sandbox_says_of_its_functions_is_not_believed_unseen() {
        for (text, why) in [
            ("nonsense", "more text than fits"),
            ("[]", "@tool"),
            (r#"[["a b", "", {"type": "object"}]]"#, "cannot be the name"),
            (r#"[["a", "", {"type": "string"}]]"#, "no schema"),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
        let read = read(r#"[["a", " ", {"type": "object"}]]"#).unwrap();
        assert_eq!(read[0].description, "Calls `a`.");
    }
}
