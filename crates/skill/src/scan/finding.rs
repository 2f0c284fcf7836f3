//! One thing the scanner saw.

use serde::Serialize;

use crate::diagnostic::SourceLocation;

/// How bad it is if the finding is what it looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanSeverity {
    /// Worth knowing when deciding what a skill may do.
    Info,
    /// Bad habit.
    Low,
    /// Needs a reason.
    Medium,
    /// Should not be loaded before a person has looked.
    High,
    /// Attack, or a secret in the open.
    Critical,
}

impl ScanSeverity {
    /// Every severity, mildest first.
    pub const ALL: [ScanSeverity; 5] = [
        ScanSeverity::Info,
        ScanSeverity::Low,
        ScanSeverity::Medium,
        ScanSeverity::High,
        ScanSeverity::Critical,
    ];

    /// The name used in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            ScanSeverity::Info => "info",
            ScanSeverity::Low => "low",
            ScanSeverity::Medium => "medium",
            ScanSeverity::High => "high",
            ScanSeverity::Critical => "critical",
        }
    }

    /// The next milder severity; `Info` stays.
    pub(crate) fn lower(self) -> ScanSeverity {
        match self {
            ScanSeverity::Critical => ScanSeverity::High,
            ScanSeverity::High => ScanSeverity::Medium,
            ScanSeverity::Medium => ScanSeverity::Low,
            ScanSeverity::Low | ScanSeverity::Info => ScanSeverity::Info,
        }
    }
}

/// How sure the scanner is that the finding is what it looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Often innocent: a mention, an example, a common habit.
    Low,
    /// Likely.
    Medium,
    /// Hardly anything else looks like this.
    High,
}

impl Confidence {
    /// The name used in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// Severity and confidence together: what context moves up and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FindingWeight(pub(crate) ScanSeverity, pub(crate) Confidence);

/// One thing the scanner saw, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's stable identifier; look it up in [`super::RULES`].
    pub rule: &'static str,
    /// How bad it is.
    pub severity: ScanSeverity,
    /// How sure the scanner is.
    pub confidence: Confidence,
    /// The file, relative to the skill's root.
    pub file: String,
    /// The place in that file, when the finding is about a part of it. Byte
    /// offsets count in the text as decoded.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<SourceLocation>,
    /// What was seen: bounded, control and invisible characters escaped,
    /// secrets redacted. Safe to print.
    pub evidence: String,
    /// What it means, in one sentence without a final stop.
    pub message: String,
    /// What to do about it.
    pub remedy: &'static str,
    /// SHA-256 over rule, file and evidence: the same finding keeps it when
    /// lines move, so it can be named in a baseline.
    pub fingerprint: String,
}

/// Sorts findings as a report lists them: the most severe first, then by file and place.
pub(crate) fn sort_findings(findings: &mut [Finding]) {
    let start = |f: &Finding| f.place.map(|p| (p.start, p.end));
    findings.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| b.confidence.cmp(&a.confidence))
            .then_with(|| a.file.cmp(&b.file))
            .then_with(|| start(a).cmp(&start(b)))
            .then_with(|| a.rule.cmp(b.rule))
            .then_with(|| a.evidence.cmp(&b.evidence))
            .then_with(|| a.message.cmp(&b.message))
    });
}
