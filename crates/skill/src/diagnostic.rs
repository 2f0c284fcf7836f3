//! Problems of a skill: what is wrong, where, and how to fix it.
//!
//! A diagnostic is data: a stable code, a location, a message and a fix. How it is shown
//! (snippet, JSON, SARIF, an API's `details`) is up to its users.

use serde::Serialize;

/// The severity of a diagnostic.
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

/// One problem, with its location and fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable identifier, for instance `name-mismatch`; never reused for another meaning.
    pub code: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// The file, relative to the skill's root.
    pub file: String,
    /// The location in that file, if any.
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

/// A location in a text file. Lines and columns count from 1; columns count
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
