//! Where findings gather under limits. It must not know the rules, nor the verdict.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::coverage::{CoverageGap, GapReason};
use super::evidence;
use super::finding::{Finding, FindingWeight, ScanSeverity, sort_findings};
use super::limits::ScanLimits;
use super::rule::ScanRule;
use super::view::FileView;
use crate::diagnostic::SourceLocation;

/// Gathers findings and gaps.
pub(crate) struct FindingCollector<'l> {
    limits: &'l ScanLimits,
    findings: Vec<Finding>,
    /// Findings listed and omitted, by rule and severity.
    tally: BTreeMap<(&'static str, ScanSeverity), Tally>,
    gaps: Vec<CoverageGap>,
}

/// What a scan found, and what it left out.
pub(crate) struct CollectedFindings {
    /// The most severe first.
    pub(crate) findings: Vec<Finding>,
    pub(crate) gaps: Vec<CoverageGap>,
}

#[derive(Default)]
struct Tally {
    listed: usize,
    omitted: usize,
}

impl<'l> FindingCollector<'l> {
    pub(crate) fn new(limits: &'l ScanLimits) -> Self {
        FindingCollector {
            limits,
            findings: Vec::new(),
            tally: BTreeMap::new(),
            gaps: Vec::new(),
        }
    }

    /// A finding about a part of a file; the evidence is the text there.
    pub(crate) fn report_at(
        &mut self,
        rule: &'static ScanRule,
        view: &FileView<'_>,
        span: Range<usize>,
        weight: FindingWeight,
        message: impl Into<Cow<'static, str>>,
    ) {
        if self.admits(rule, weight.0) {
            let shown = evidence::excerpt(
                &view.text,
                span.clone(),
                &view.masks,
                self.limits.evidence_chars,
            );
            self.push_finding(
                rule,
                view.path,
                Some(view.location(span)),
                weight,
                shown,
                message,
            );
        }
    }

    /// A finding about a part of a file, with evidence from the rule.
    pub(crate) fn report_with_evidence(
        &mut self,
        rule: &'static ScanRule,
        view: &FileView<'_>,
        span: Range<usize>,
        weight: FindingWeight,
        evidence: &str,
        message: impl Into<Cow<'static, str>>,
    ) {
        if self.admits(rule, weight.0) {
            let shown = evidence::escape(evidence, self.limits.evidence_chars);
            self.push_finding(
                rule,
                view.path,
                Some(view.location(span)),
                weight,
                shown,
                message,
            );
        }
    }

    /// A finding about a whole file, or about the skill when that is its file.
    pub(crate) fn report_file(
        &mut self,
        rule: &'static ScanRule,
        path: &str,
        weight: FindingWeight,
        evidence: &str,
        message: impl Into<Cow<'static, str>>,
    ) {
        if self.admits(rule, weight.0) {
            let shown = evidence::escape(evidence, self.limits.evidence_chars);
            self.push_finding(rule, path, None, weight, shown, message);
        }
    }

    /// Something that was not scanned.
    pub(crate) fn report_gap(&mut self, file: Option<&str>, reason: GapReason, detail: String) {
        self.gaps.push(CoverageGap {
            file: file.map(str::to_owned),
            reason,
            detail,
        });
    }

    /// The same, from where there is no collector.
    pub(crate) fn add_gaps(&mut self, gaps: impl IntoIterator<Item = CoverageGap>) {
        self.gaps.extend(gaps);
    }

    /// Findings of the same kind that were found but not listed.
    pub(crate) fn omit(&mut self, rule: &'static ScanRule, severity: ScanSeverity, count: usize) {
        if count > 0 {
            self.tally.entry((rule.id, severity)).or_default().omitted += count;
        }
    }

    /// All findings, sorted and cut to the limits; what was cut is a gap.
    pub(crate) fn finish(mut self) -> CollectedFindings {
        sort_findings(&mut self.findings);
        let beyond = self
            .findings
            .split_off(self.findings.len().min(self.limits.findings));
        for finding in &beyond {
            self.tally
                .entry((finding.rule, finding.severity))
                .or_default()
                .omitted += 1;
        }
        for ((rule, severity), tally) in std::mem::take(&mut self.tally) {
            if tally.omitted > 0 {
                let detail = format!(
                    "{} more findings of {rule} at severity {} are not listed",
                    tally.omitted,
                    severity.as_str()
                );
                self.report_gap(None, GapReason::FindingsOmitted, detail);
            }
        }
        self.gaps.sort();
        self.gaps.dedup();
        CollectedFindings {
            findings: self.findings,
            gaps: self.gaps,
        }
    }

    fn admits(&mut self, rule: &'static ScanRule, severity: ScanSeverity) -> bool {
        let tally = self.tally.entry((rule.id, severity)).or_default();
        let admitted = tally.listed < self.limits.per_rule;
        if admitted {
            tally.listed += 1;
        } else {
            tally.omitted += 1;
        }
        admitted
    }

    fn push_finding(
        &mut self,
        rule: &'static ScanRule,
        path: &str,
        place: Option<SourceLocation>,
        FindingWeight(severity, confidence): FindingWeight,
        evidence: String,
        message: impl Into<Cow<'static, str>>,
    ) {
        self.findings.push(Finding {
            rule: rule.id,
            severity,
            confidence,
            fingerprint: evidence::fingerprint([rule.id, path, &evidence]),
            file: path.to_owned(),
            place,
            evidence,
            message: message.into().into_owned(),
            remedy: rule.help,
        });
    }
}
