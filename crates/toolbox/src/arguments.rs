//! Arguments by the names that different systems give them.

use crate::model_text;
use serde_json::Value;

/// The accepted names of one argument, the documented one first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArgumentNames(pub(crate) &'static [&'static str]);

impl ArgumentNames {
    /// A skill.
    pub(crate) const SKILL: Self = Self(&["name", "skill_name", "skill"]);
    /// A file of a skill.
    pub(crate) const PATH: Self = Self(&[
        "path",
        "file_path",
        "resource_name",
        "script_name",
        "filename",
    ]);
    /// Words to search by.
    pub(crate) const QUERY: Self = Self(&["query", "q"]);
    /// A command of the editor.
    pub(crate) const COMMAND: Self = Self(&["command"]);

    /// The value under any of the names.
    pub(crate) fn find(self, input: &Value) -> Option<&Value> {
        self.0.iter().find_map(|name| input.get(name))
    }

    fn name(self) -> &'static str {
        self.0.first().copied().unwrap_or_default()
    }
}

/// A required string.
///
/// # Errors
/// A sentence that names the argument.
pub(crate) fn required_text(input: &Value, names: ArgumentNames) -> Result<String, String> {
    match names.find(input) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(Value::String(_)) => Err(format!("argument `{}` is empty", names.name())),
        Some(_) => Err(format!("argument `{}` must be a string", names.name())),
        None => Err(model_text::missing_argument(names.name())),
    }
}
