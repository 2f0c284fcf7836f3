//! Who starts a skill, when, and with what: the part of the widely used
//! extension fields that means the same on every provider.
//!
//! Fields that would run something on the host (`hooks`) or choose its inner
//! workings (`context`, `agent`, `effort`) are kept as written and never acted on.

use serde::Serialize;
use serde_json::{Map, Value};

use super::FieldReader;
use crate::frontmatter::{Node, NodeKind};
use crate::rules;

/// How a skill wants to be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Invocation {
    /// `when_to_use`: belongs after the description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_to_use: Option<String>,
    /// `argument-hint`: what a person may type after the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
    /// `arguments`: names for positional arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// `disable-model-invocation` turned around: whether the model may load it.
    pub by_model: bool,
    /// `user-invocable`: whether a person may start it by name.
    pub by_user: bool,
    /// `model`: a hint, nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `paths`: globs of files it is about; a hint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

impl Default for Invocation {
    fn default() -> Self {
        Invocation {
            when_to_use: None,
            argument_hint: None,
            arguments: Vec::new(),
            by_model: true,
            by_user: true,
            model: None,
            paths: Vec::new(),
        }
    }
}

/// The field that says whether models may load a skill by themselves.
pub const DISABLE_MODEL_INVOCATION: &str = "disable-model-invocation";

/// Extension fields that this crate understands, besides `tools` and `requires`.
pub(crate) const FIELDS: [&str; 9] = [
    "when_to_use",
    "argument-hint",
    "arguments",
    DISABLE_MODEL_INVOCATION,
    "user-invocable",
    "user_invocable",
    "model",
    "paths",
    "version",
];

pub(crate) fn read(reader: &mut FieldReader<'_>) -> Invocation {
    let user_invocable = if reader.get("user-invocable").is_some() {
        "user-invocable"
    } else {
        "user_invocable"
    };
    warn_about_hooks(reader);
    Invocation {
        when_to_use: read_text(reader, "when_to_use"),
        argument_hint: read_text(reader, "argument-hint"),
        arguments: read_list(reader, "arguments", char::is_whitespace),
        by_model: !read_flag(reader, DISABLE_MODEL_INVOCATION).unwrap_or(false),
        by_user: read_flag(reader, user_invocable).unwrap_or(true),
        model: read_text(reader, "model").filter(|model| model != "inherit"),
        paths: read_list(reader, "paths", |c| c == ','),
    }
}

/// [`Invocation::by_model`] of a frontmatter that was read before.
pub fn models_may_load(frontmatter: &Map<String, Value>) -> bool {
    let disabled = match frontmatter.get(DISABLE_MODEL_INVOCATION) {
        Some(Value::Bool(disabled)) => *disabled,
        Some(Value::String(text)) => {
            ["true", "yes", "on"].contains(&text.to_ascii_lowercase().as_str())
        }
        _ => false,
    };
    !disabled
}

fn warn_about_hooks(reader: &mut FieldReader<'_>) {
    if let Some(entry) = reader.get("hooks") {
        let message = "`hooks` would run commands on the host; they are never run";
        reader.report(&rules::HOST_EXECUTION, &entry.key_range, message);
    }
}

pub(crate) fn read_text(reader: &mut FieldReader<'_>, key: &str) -> Option<String> {
    let entry = reader.get(key)?;
    match &entry.value.kind {
        NodeKind::Scalar { .. } => {
            let text = entry.value.value_text()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        }
        // `argument-hint: [file]` is text to everyone but YAML.
        NodeKind::Sequence(_) if key == "argument-hint" => {
            let range = entry.value.range.clone();
            Some(reader.frontmatter.source().slice(range).trim().to_owned())
        }
        _ => {
            let message = format!("`{key}` must be text");
            reader.report(&rules::FIELD_TYPE, &entry.value.range, message);
            None
        }
    }
}

fn read_flag(reader: &mut FieldReader<'_>, key: &str) -> Option<bool> {
    let entry = reader.get(key)?;
    let word = entry.value.text().map(str::to_ascii_lowercase);
    match word.as_deref() {
        Some("true" | "yes" | "on") => Some(true),
        Some("false" | "no" | "off") => Some(false),
        _ => {
            let message = format!("`{key}` must be true or false");
            reader.report(&rules::FIELD_TYPE, &entry.value.range, message);
            None
        }
    }
}

fn read_list(reader: &mut FieldReader<'_>, key: &str, separator: fn(char) -> bool) -> Vec<String> {
    let Some(entry) = reader.get(key) else {
        return Vec::new();
    };
    let clean = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    match &entry.value.kind {
        NodeKind::Scalar { text, .. } => text.split(separator).filter_map(clean).collect(),
        NodeKind::Sequence(items) => items
            .iter()
            .filter_map(Node::text)
            .filter_map(clean)
            .collect(),
        NodeKind::Mapping(_) => {
            let message = format!("`{key}` must be text or a list of text");
            reader.report(&rules::FIELD_TYPE, &entry.value.range, message);
            Vec::new()
        }
    }
}
