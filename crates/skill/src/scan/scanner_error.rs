//! Why the scanner itself cannot be built.

/// Why the scanner's own tables cannot be compiled: a mistake in this crate,
/// never in what is scanned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScannerError {
    /// A pattern is not a regular expression.
    #[error("rule {rule}: `{regex}` is not a regular expression: {source}")]
    Pattern {
        /// The rule it belongs to.
        rule: &'static str,
        /// The pattern.
        regex: &'static str,
        /// What is wrong with it.
        source: Box<regex::Error>,
    },
    /// The automaton of anchors cannot be built.
    #[error("the anchors of the scanner's patterns cannot be compiled: {reason}")]
    Anchors {
        /// What is wrong.
        reason: String,
    },
}

impl ScannerError {
    /// Stable identifier of the error.
    pub fn code(&self) -> &'static str {
        match self {
            ScannerError::Pattern { .. } => "scanner-pattern",
            ScannerError::Anchors { .. } => "scanner-anchors",
        }
    }
}
