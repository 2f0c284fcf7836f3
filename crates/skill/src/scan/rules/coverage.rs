//! What was not scanned, as findings, so that every
//! renderer shows them.

use crate::scan::coverage::CoverageGap;
use crate::scan::evidence;
use crate::scan::finding::{Confidence, Finding, ScanSeverity};
use crate::scan::rule::ScanRule;

pub(crate) static COVERAGE: ScanRule = ScanRule {
    id: "COVERAGE",
    title: "Not scanned",
    description: "A file, or a part of one, could not be analysed, or a limit was reached. The \
                  report is partial: no finding there does not mean nothing is there.",
    severity: ScanSeverity::Info,
    help: "Review the named file by other means, or ship its source instead.",
    hostile: false,
};

pub(crate) fn finding(gap: &CoverageGap) -> Finding {
    let file = gap.file.clone().unwrap_or_default();
    Finding {
        rule: COVERAGE.id,
        severity: COVERAGE.severity,
        confidence: Confidence::High,
        fingerprint: evidence::fingerprint([COVERAGE.id, &file, &gap.detail]),
        file,
        place: None,
        evidence: gap.detail.clone(),
        message: "This was not fully scanned".to_owned(),
        remedy: COVERAGE.help,
    }
}
