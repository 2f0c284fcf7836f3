//! The result of a scan.

use std::collections::BTreeSet;

use serde::Serialize;

use super::collector::CollectedFindings;
use super::coverage::Coverage;
use super::finding::{Confidence, Finding, ScanSeverity, sort_findings};
use super::rules;

/// The verdict, derived from the findings by [`ScanStatus::from_findings`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanStatus {
    /// Everything was scanned and nothing needs a review.
    Pass,
    /// A person should review the skill before it is trusted.
    Review,
    /// The skill should not be loaded before a person has reviewed it.
    Warn,
    /// An attack without a harmless explanation.
    Malicious,
}

impl ScanStatus {
    /// The name used in every output.
    pub fn as_str(self) -> &'static str {
        match self {
            ScanStatus::Pass => "pass",
            ScanStatus::Review => "review",
            ScanStatus::Warn => "warn",
            ScanStatus::Malicious => "malicious",
        }
    }

    /// The rule, from the top; the first that fits:
    ///
    /// - `malicious`: a critical finding of high confidence by a hostile rule;
    /// - `warn`: any other critical finding of at least medium confidence, or a
    ///   high one of at least medium confidence;
    /// - `review`: any other critical or high finding, a medium one of at least
    ///   medium confidence, or a partial coverage;
    /// - `pass`: everything else.
    pub fn from_findings(findings: &[Finding], coverage: &Coverage) -> ScanStatus {
        let worst = findings.iter().map(ScanStatus::from_finding).max();
        let floor = match coverage {
            Coverage::Complete => ScanStatus::Pass,
            Coverage::Partial { .. } => ScanStatus::Review,
        };
        worst.unwrap_or(ScanStatus::Pass).max(floor)
    }

    fn from_finding(finding: &Finding) -> ScanStatus {
        let sure = finding.confidence >= Confidence::Medium;
        let certain = finding.confidence == Confidence::High;
        let hostile = rules::find(finding.rule).is_some_and(|rule| rule.hostile);
        match finding.severity {
            ScanSeverity::Critical if certain && hostile => ScanStatus::Malicious,
            ScanSeverity::Critical | ScanSeverity::High if sure => ScanStatus::Warn,
            ScanSeverity::Critical | ScanSeverity::High => ScanStatus::Review,
            ScanSeverity::Medium if sure => ScanStatus::Review,
            ScanSeverity::Medium | ScanSeverity::Low | ScanSeverity::Info => ScanStatus::Pass,
        }
    }
}

/// How many findings of each severity are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are the severities")]
pub struct FindingCounts {
    pub critical: usize,
    pub high: usize,
    pub medium: usize,
    pub low: usize,
    pub info: usize,
}

impl FindingCounts {
    fn from_findings(findings: &[Finding]) -> FindingCounts {
        let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
        FindingCounts {
            critical: count(ScanSeverity::Critical),
            high: count(ScanSeverity::High),
            medium: count(ScanSeverity::Medium),
            low: count(ScanSeverity::Low),
            info: count(ScanSeverity::Info),
        }
    }
}

/// The outcome of a scan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScanReport {
    /// The verdict.
    pub status: ScanStatus,
    /// Whether everything was scanned.
    pub coverage: Coverage,
    /// Listed findings by severity.
    pub counts: FindingCounts,
    /// Findings omitted because a baseline lists them.
    pub suppressed: usize,
    /// The findings: most severe first, then by file, place and rule.
    pub findings: Vec<Finding>,
}

impl ScanReport {
    /// The report of a scan; each gap becomes a finding too, so that every renderer shows it.
    pub(super) fn from_collected(collected: CollectedFindings) -> ScanReport {
        let CollectedFindings { mut findings, gaps } = collected;
        if gaps.is_empty() {
            return ScanReport::new(findings, Coverage::Complete, 0);
        }
        findings.extend(gaps.iter().map(rules::coverage::finding));
        sort_findings(&mut findings);
        ScanReport::new(findings, Coverage::Partial { reasons: gaps }, 0)
    }

    fn new(findings: Vec<Finding>, coverage: Coverage, suppressed: usize) -> ScanReport {
        ScanReport {
            status: ScanStatus::from_findings(&findings, &coverage),
            counts: FindingCounts::from_findings(&findings),
            coverage,
            suppressed,
            findings,
        }
    }

    /// The same report without the findings a baseline names, its status
    /// derived again. What was not scanned cannot be accepted by a baseline: coverage
    /// and its findings stay.
    #[must_use]
    pub fn without_baseline(&self, baseline: &BTreeSet<String>) -> ScanReport {
        let stays = |finding: &&Finding| {
            finding.rule == rules::coverage::COVERAGE.id || !baseline.contains(&finding.fingerprint)
        };
        let findings: Vec<Finding> = self.findings.iter().filter(stays).cloned().collect();
        let suppressed = self.suppressed + self.findings.len() - findings.len();
        ScanReport::new(findings, self.coverage.clone(), suppressed)
    }
}
