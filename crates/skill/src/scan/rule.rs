//! The definition of a rule, used for text, JSON, SARIF and the documentation.

use serde::Serialize;

use super::finding::ScanSeverity;

/// A rule of the scanner.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ScanRule {
    /// Stable identifier, for instance `EXEC-FETCH`; never reused for another meaning.
    pub id: &'static str,
    /// A short title.
    pub title: &'static str,
    /// What it detects and why that matters.
    pub description: &'static str,
    /// The severity of a plain hit; context moves single findings up or down.
    pub severity: ScanSeverity,
    /// What the author or the reviewer should do.
    pub help: &'static str,
    /// Whether a certain, critical hit has no innocent reading. A leaked key is
    /// critical too, but it does not make its author an attacker.
    pub hostile: bool,
}
