//! What the checks said of uploaded skills.

use askama::Template;
use prowess_skill::scan::{Finding, ScanReport, ScanSeverity};
use prowess_skill::{Diagnostic, Severity};

use super::snippet::{self, SnippetLine};
use crate::format::bytes;
use crate::page::compare::comparison::Comparison;
use crate::page::skill::view::{ScanBadge, scan_badge};

/// Remarks and findings that are shown of each skill.
const MAX_REMARKS: usize = 60;

/// All skills of one upload. Templates show it by `{{ checked|safe }}`: it escapes itself.
#[derive(Template)]
#[template(path = "upload_result.html")]
pub(super) struct CheckedUpload {
    pub(super) skills: Vec<CheckedSkill>,
    /// Files that belong to no skill.
    pub(super) strays: usize,
    /// Skills that were not looked at, as there are too many.
    pub(super) left_out: usize,
}

/// One skill.
pub(super) struct CheckedSkill {
    /// The archive or folder that it came from.
    pub(super) title: String,
    /// The name that it has, if it could be read.
    pub(super) name: Option<String>,
    pub(super) description: String,
    pub(super) size: String,
    pub(super) remarks: Vec<UploadRemark>,
    pub(super) scan: Option<ScanBadge>,
    pub(super) findings: Vec<UploadRemark>,
    /// Why it cannot be published.
    pub(super) refused: Option<String>,
    /// The skill that gets a version, with its page.
    pub(super) existing: Option<ExistingSkill>,
    /// What is different from the default version.
    pub(super) comparison: Option<Comparison>,
    /// Under which id it waits to be published.
    pub(super) pending: Option<String>,
}

/// A skill of the same name.
pub(super) struct ExistingSkill {
    pub(super) id: String,
    pub(super) href: String,
    pub(super) default_version: String,
}

/// A diagnostic or a finding, with the lines that it is about.
pub(super) struct UploadRemark {
    pub(super) badge: &'static str,
    pub(super) severity: &'static str,
    pub(super) code: &'static str,
    /// File, line and column.
    pub(super) place: String,
    pub(super) message: String,
    pub(super) fix: Option<&'static str>,
    pub(super) lines: Vec<SnippetLine>,
}

impl CheckedUpload {
    /// How many can be published.
    fn publishable(&self) -> usize {
        let waiting = self.skills.iter().filter(|skill| skill.pending.is_some());
        waiting.count()
    }

    /// Whether one of them becomes a version of a skill that is there.
    fn has_existing(&self) -> bool {
        let mut waiting = self.skills.iter().filter(|skill| skill.pending.is_some());
        waiting.any(|skill| skill.existing.is_some())
    }
}

impl CheckedSkill {
    pub(super) fn new(title: String) -> CheckedSkill {
        CheckedSkill {
            title,
            name: None,
            description: String::new(),
            size: String::new(),
            remarks: Vec::new(),
            scan: None,
            findings: Vec::new(),
            refused: None,
            existing: None,
            comparison: None,
            pending: None,
        }
    }

    pub(super) fn set_size(&mut self, files: usize, total: u64) {
        self.size = format!("{files} files, {}", bytes(total));
    }

    /// Whether nothing changed.
    fn is_unchanged(&self) -> bool {
        let comparison = self.comparison.as_ref();
        comparison.is_some_and(|comparison| comparison.identical)
    }

    pub(super) fn set_remarks(&mut self, remarks: &[Diagnostic], source: Option<&str>) {
        let shown = remarks.iter().take(MAX_REMARKS);
        self.remarks = shown
            .map(|remark| UploadRemark::from_diagnostic(remark, source))
            .collect();
    }

    /// `text` is the content of a file, if it is a text.
    pub(super) fn set_scan<'a>(
        &mut self,
        report: &ScanReport,
        text: impl Fn(&str) -> Option<&'a str>,
    ) {
        self.scan = scan_badge(report.status.as_str());
        let shown = report.findings.iter().take(MAX_REMARKS);
        self.findings = shown
            .map(|finding| UploadRemark::from_finding(finding, text(&finding.file)))
            .collect();
    }
}

impl UploadRemark {
    /// `source` is the SKILL.md, in which places count.
    fn from_diagnostic(remark: &Diagnostic, source: Option<&str>) -> UploadRemark {
        let (badge, severity) = match remark.severity {
            Severity::Error => ("bad", "error"),
            Severity::Warning => ("warn", "warning"),
            Severity::Note => ("muted", "note"),
        };
        let lines = remark.place.zip(source);
        UploadRemark {
            badge,
            severity,
            code: remark.code,
            place: match remark.place {
                Some(place) => format!("{}:{}:{}", remark.file, place.line, place.column),
                None => remark.file.clone(),
            },
            message: remark.message.clone(),
            fix: remark.fix,
            lines: lines
                .map(|(place, source)| snippet::lines(source, place.line))
                .unwrap_or_default(),
        }
    }

    fn from_finding(finding: &Finding, text: Option<&str>) -> UploadRemark {
        let badge = match finding.severity {
            ScanSeverity::Critical | ScanSeverity::High => "bad",
            ScanSeverity::Medium => "warn",
            _ => "muted",
        };
        let lines = finding.place.zip(text);
        UploadRemark {
            badge,
            severity: finding.severity.as_str(),
            code: finding.rule,
            place: match finding.place {
                Some(place) => format!("{}:{}:{}", finding.file, place.line, place.column),
                None => finding.file.clone(),
            },
            message: finding.message.clone(),
            fix: Some(finding.remedy),
            lines: lines
                .map(|(place, text)| snippet::lines(text, place.line))
                .unwrap_or_default(),
        }
    }
}
