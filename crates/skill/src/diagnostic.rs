//! What is wrong, where, and how to mend it.
//!
//! A diagnostic is data: a stable code, a place, a reason and a fix. How it is
//! shown (snippet, JSON, SARIF, an API's `details`) is the business of the face
//! that shows it.

use serde::Serialize;

/// How much a diagnostic weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing has to change.
    Note,
    /// The skill loads, but not everywhere, or not as its author meant.
    Warning,
    /// The skill does not load, or breaks the rules it was checked against.
    Error,
}

/// One deviation, with its place and its remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable identifier, for instance `name-mismatch`; never reused for another meaning.
    pub code: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// The file, relative to the skill's root.
    pub file: String,
    /// The place in that file, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceLocation>,
    /// What is wrong, in one sentence without a final stop.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<&'static str>,
    /// Whether the reference validator refuses a skill for it.
    #[serde(skip)]
    pub strict: bool,
}

/// A place in a text file. Lines and columns count from 1; columns count
/// characters, not bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SourceLocation {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Byte offset of the first byte in the file.
    #[serde(skip)]
    pub start: usize,
    /// Byte offset after the last byte.
    #[serde(skip)]
    pub end: usize,
}
