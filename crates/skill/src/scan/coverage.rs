//! What a scan covered: types that findings, files and reports share.

use serde::Serialize;

/// Whether everything was scanned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "state")]
pub enum Coverage {
    /// Every byte of every file was scanned, and every finding is listed.
    Complete,
    /// Something was not.
    Partial {
        /// What, and why.
        reasons: Vec<CoverageGap>,
    },
}

/// Something that was not scanned, or found but not listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CoverageGap {
    /// The file, or nothing when it concerns the whole scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Stable kind of the gap.
    pub reason: GapReason,
    /// A description, with figures.
    pub detail: String,
}

/// Why something was not scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapReason {
    /// The file is longer than the limit for one file.
    FileTooLong,
    /// The limit for all files was reached before this one.
    TotalTooLong,
    /// The limit on pattern work was reached.
    WorkExhausted,
    /// The text is not valid in its encoding and was read with replacements.
    InvalidText,
    /// The content is compressed, encrypted or compiled, and was not opened.
    Opaque,
    /// More findings than the limits allow to list.
    FindingsOmitted,
}
