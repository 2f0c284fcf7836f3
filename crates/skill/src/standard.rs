//! The standard's rules about fields, with the reference validator's messages.
//!
//! [`check`] returns the violations in the reference's order, with its messages. Only the six
//! fields of the standard are checked here.

use std::ops::Range;

use unicode_general_category::{GeneralCategory as G, get_general_category};
use unicode_normalization::UnicodeNormalization;

use crate::frontmatter::Frontmatter;
use crate::python;
use crate::rules::{self, DiagnosticRule};

/// The standard's fields, sorted.
pub const FIELDS: [&str; 6] = [
    "allowed-tools",
    "compatibility",
    "description",
    "license",
    "metadata",
    "name",
];

/// Most characters of a name.
pub const MAX_NAME_CHARS: usize = 64;
/// Most characters of a description.
pub const MAX_DESCRIPTION_CHARS: usize = 1024;
/// Most characters of `compatibility`.
pub const MAX_COMPATIBILITY_CHARS: usize = 500;

/// A broken rule of the standard. Prints as the reference validator does.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StandardViolation {
    #[error("Unexpected fields in frontmatter: {}. Only {} are allowed.", .0.join(", "), fields())]
    UnexpectedFields(Vec<String>),
    #[error("Missing required field in frontmatter: name")]
    NameMissing,
    #[error("Field 'name' must be a non-empty string")]
    NameInvalid,
    #[error("Skill name '{0}' exceeds 64 character limit ({1} chars)")]
    NameTooLong(String, usize),
    #[error("Skill name '{0}' must be lowercase")]
    NameNotLowercase(String),
    #[error("Skill name cannot start or end with a hyphen")]
    NameEdgeHyphen,
    #[error("Skill name cannot contain consecutive hyphens")]
    NameDoubleHyphen,
    #[error(
        "Skill name '{0}' contains invalid characters. Only letters, digits, and hyphens are allowed."
    )]
    NameBadCharacter(String),
    #[error("Directory name '{folder}' must match skill name '{name}'")]
    NameMismatch { folder: String, name: String },
    #[error("Missing required field in frontmatter: description")]
    DescriptionMissing,
    #[error("Field 'description' must be a non-empty string")]
    DescriptionInvalid,
    #[error("Description exceeds 1024 character limit ({0} chars)")]
    DescriptionTooLong(usize),
    #[error("Field 'compatibility' must be a string")]
    CompatibilityInvalid,
    #[error("Compatibility exceeds 500 character limit ({0} chars)")]
    CompatibilityTooLong(usize),
}

impl StandardViolation {
    /// The rule it breaks.
    pub fn rule(&self) -> &'static DiagnosticRule {
        match self {
            StandardViolation::UnexpectedFields(_) => &rules::UNKNOWN_FIELD,
            StandardViolation::NameMissing => &rules::NAME_MISSING,
            StandardViolation::NameInvalid => &rules::NAME_INVALID,
            StandardViolation::NameTooLong(..) => &rules::NAME_TOO_LONG,
            StandardViolation::NameNotLowercase(_) => &rules::NAME_NOT_LOWERCASE,
            StandardViolation::NameEdgeHyphen => &rules::NAME_EDGE_HYPHEN,
            StandardViolation::NameDoubleHyphen => &rules::NAME_DOUBLE_HYPHEN,
            StandardViolation::NameBadCharacter(_) => &rules::NAME_BAD_CHARACTER,
            StandardViolation::NameMismatch { .. } => &rules::NAME_MISMATCH,
            StandardViolation::DescriptionMissing => &rules::DESCRIPTION_MISSING,
            StandardViolation::DescriptionInvalid => &rules::DESCRIPTION_INVALID,
            StandardViolation::DescriptionTooLong(_) => &rules::DESCRIPTION_TOO_LONG,
            StandardViolation::CompatibilityInvalid => &rules::COMPATIBILITY_INVALID,
            StandardViolation::CompatibilityTooLong(_) => &rules::COMPATIBILITY_TOO_LONG,
        }
    }

    /// Its location: the value of its field, the keys of unexpected ones, or
    /// nowhere for a field that is missing.
    pub fn ranges(&self, frontmatter: &Frontmatter) -> Vec<Range<usize>> {
        let key_of = |field: &String| frontmatter.get(field).map(|e| e.key_range.clone());
        let value_of = |field| frontmatter.get(field).map(|e| e.value.range.clone());
        match self {
            StandardViolation::UnexpectedFields(fields) => {
                fields.iter().filter_map(key_of).collect()
            }
            StandardViolation::NameMissing | StandardViolation::DescriptionMissing => Vec::new(),
            StandardViolation::DescriptionInvalid | StandardViolation::DescriptionTooLong(_) => {
                value_of("description").into_iter().collect()
            }
            StandardViolation::CompatibilityInvalid
            | StandardViolation::CompatibilityTooLong(_) => {
                value_of("compatibility").into_iter().collect()
            }
            _ => value_of("name").into_iter().collect(),
        }
    }
}

/// All violations, in the reference's order. `folder` is the name of the
/// skill's folder, when it has one.
pub fn check(frontmatter: &Frontmatter, folder: Option<&str>) -> Vec<StandardViolation> {
    let mut found = Vec::new();
    found.extend(check_fields(frontmatter));
    check_name(frontmatter, folder, &mut found);
    found.extend(check_description(frontmatter));
    found.extend(check_compatibility(frontmatter));
    found
}

/// A name as the standard compares names: without blanks around it, in NFKC.
pub fn normalise_name(name: &str) -> String {
    strip(name).nfkc().collect()
}

/// Strips what Python's `str.strip` treats as white space.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c))
}

fn check_fields(frontmatter: &Frontmatter) -> Option<StandardViolation> {
    let keys = frontmatter.entries().iter().map(|entry| &entry.key);
    let mut extra: Vec<String> = keys
        .filter(|key| !FIELDS.contains(&key.as_str()))
        .cloned()
        .collect();
    extra.sort_unstable();
    (!extra.is_empty()).then_some(StandardViolation::UnexpectedFields(extra))
}

fn check_name(frontmatter: &Frontmatter, folder: Option<&str>, found: &mut Vec<StandardViolation>) {
    let Some(entry) = frontmatter.get("name") else {
        return found.push(StandardViolation::NameMissing);
    };
    let Some(text) = entry.value.text().filter(|text| !strip(text).is_empty()) else {
        return found.push(StandardViolation::NameInvalid);
    };
    let name = normalise_name(text);
    let length = name.chars().count();
    if length > MAX_NAME_CHARS {
        found.push(StandardViolation::NameTooLong(name.clone(), length));
    }
    if name != name.to_lowercase() {
        found.push(StandardViolation::NameNotLowercase(name.clone()));
    }
    if name.starts_with('-') || name.ends_with('-') {
        found.push(StandardViolation::NameEdgeHyphen);
    }
    if name.contains("--") {
        found.push(StandardViolation::NameDoubleHyphen);
    }
    if !name.chars().all(|c| c == '-' || is_alphanumeric(c)) {
        found.push(StandardViolation::NameBadCharacter(name.clone()));
    }
    if let Some(folder) = folder
        && folder.nfkc().collect::<String>() != name
    {
        let folder = folder.to_owned();
        found.push(StandardViolation::NameMismatch { folder, name });
    }
}

fn check_description(frontmatter: &Frontmatter) -> Option<StandardViolation> {
    let Some(entry) = frontmatter.get("description") else {
        return Some(StandardViolation::DescriptionMissing);
    };
    let Some(text) = entry.value.text().filter(|text| !strip(text).is_empty()) else {
        return Some(StandardViolation::DescriptionInvalid);
    };
    let length = text.chars().count();
    (length > MAX_DESCRIPTION_CHARS).then_some(StandardViolation::DescriptionTooLong(length))
}

fn check_compatibility(frontmatter: &Frontmatter) -> Option<StandardViolation> {
    let entry = frontmatter.get("compatibility")?;
    let Some(text) = entry.value.text() else {
        return Some(StandardViolation::CompatibilityInvalid);
    };
    let length = text.chars().count();
    (length > MAX_COMPATIBILITY_CHARS).then_some(StandardViolation::CompatibilityTooLong(length))
}

/// Letters and numbers by general category. Not `char::is_alphanumeric`, which
/// also takes marks that the reference refuses.
fn is_alphanumeric(c: char) -> bool {
    matches!(
        get_general_category(c),
        G::UppercaseLetter
            | G::LowercaseLetter
            | G::TitlecaseLetter
            | G::ModifierLetter
            | G::OtherLetter
            | G::DecimalNumber
            | G::LetterNumber
            | G::OtherNumber
    )
}

fn fields() -> String {
    format!("[{}]", FIELDS.map(python::repr).join(", "))
}
