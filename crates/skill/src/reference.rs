//! The reference validator's three answers, byte for byte.
//!
//! Returns what the reference would print for the text of a SKILL.md. Paths
//! and files are the caller's.

use serde_json::{Map, Value};

use crate::frontmatter::{Frontmatter, Node, NodeKind, SourceText, StrictError};
use crate::limits::BundleLimits;
use crate::python;
use crate::standard::{self, StandardViolation};

/// The reference's message for one skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The frontmatter cannot be read.
    #[error(transparent)]
    Frontmatter(#[from] StrictError),
    /// A field breaks the standard.
    #[error(transparent)]
    Violation(#[from] StandardViolation),
}

/// Everything that is wrong, in the reference's order; empty for a valid skill.
pub fn validate(source: SourceText, folder: &str, limits: &BundleLimits) -> Vec<ReferenceError> {
    match Frontmatter::strict(source, limits) {
        Ok(frontmatter) => standard::check(&frontmatter, Some(folder))
            .into_iter()
            .map(ReferenceError::from)
            .collect(),
        Err(error) => vec![error.into()],
    }
}

/// The properties that the reference reads, with text for every scalar.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillProperties {
    /// The name, without blanks around it.
    pub name: String,
    /// The description, without blanks around it.
    pub description: String,
    /// All properties in the reference's order and shape.
    pub json: Map<String, Value>,
}

/// Reads properties; checks no more than the reference does.
pub fn properties(
    source: SourceText,
    limits: &BundleLimits,
) -> Result<SkillProperties, ReferenceError> {
    let frontmatter = Frontmatter::strict(source, limits)?;
    let get = |field| frontmatter.get(field).map(|entry| &entry.value);
    let name_node = get("name").ok_or(StandardViolation::NameMissing)?;
    let description_node = get("description").ok_or(StandardViolation::DescriptionMissing)?;
    let name = non_empty_text(name_node).ok_or(StandardViolation::NameInvalid)?;
    let description =
        non_empty_text(description_node).ok_or(StandardViolation::DescriptionInvalid)?;

    let mut json = Map::new();
    json.insert("name".into(), name.clone().into());
    json.insert("description".into(), description.clone().into());
    for field in ["license", "compatibility", "allowed-tools"] {
        json.extend(get(field).map(|node| (field.to_owned(), text_values(node))));
    }
    if let Some(metadata) = get("metadata")
        .map(metadata)
        .filter(|value| !is_falsy(value))
    {
        json.insert("metadata".into(), metadata);
    }
    Ok(SkillProperties {
        name,
        description,
        json,
    })
}

/// One `<skill>` block for each skill, as the reference prints them.
pub fn prompt<'a>(skills: impl IntoIterator<Item = (&'a SkillProperties, &'a str)>) -> String {
    let mut lines = vec!["<available_skills>".to_owned()];
    for (properties, location) in skills {
        lines.extend([
            "<skill>".into(),
            "<name>".into(),
            escape(&properties.name),
            "</name>".into(),
            "<description>".into(),
            escape(&properties.description),
            "</description>".into(),
            "<location>".into(),
            location.to_owned(),
            "</location>".into(),
            "</skill>".into(),
        ]);
    }
    lines.push("</available_skills>".into());
    lines.join("\n")
}

fn non_empty_text(node: &Node) -> Option<String> {
    let text = standard::strip(node.text()?);
    (!text.is_empty()).then(|| text.to_owned())
}

/// A value in which every scalar is text.
fn text_values(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Scalar { text, .. } => text.clone().into(),
        NodeKind::Sequence(items) => items.iter().map(text_values).collect(),
        NodeKind::Mapping(entries) => {
            let entries = entries.iter().map(|(k, v)| (k.key_text(), text_values(v)));
            Value::Object(entries.collect())
        }
    }
}

/// A mapping's values become text, nested ones as Python prints them.
fn metadata(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let entries = entries
                .iter()
                .map(|(k, v)| (k.key_text(), python::to_str(v).into()));
            Value::Object(entries.collect())
        }
        _ => text_values(node),
    }
}

fn is_falsy(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

/// `html.escape` with quotes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            c => out.push(c),
        }
    }
    out
}
