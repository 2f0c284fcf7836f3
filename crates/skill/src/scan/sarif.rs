//! A scan's report as SARIF.

use serde_json::Value;

use super::finding::{Finding, ScanSeverity};
use super::report::ScanReport;
use super::rules::RULES;
use crate::sarif::{self, SarifLevel, SarifResult, SarifRule, SarifTool};

impl ScanReport {
    /// The report as a SARIF 2.1.0 log, with every rule of the scanner.
    pub fn to_sarif(&self, tool: SarifTool<'_>) -> Value {
        to_sarif(tool, &[("", self)])
    }
}

/// Several reports as one SARIF 2.1.0 log. Each comes with what to put before
/// the paths of its files.
pub fn to_sarif(tool: SarifTool<'_>, reports: &[(&str, &ScanReport)]) -> Value {
    let rules: Vec<SarifRule<'_>> = RULES
        .iter()
        .map(|rule| SarifRule {
            id: rule.id,
            title: rule.title,
            description: rule.description,
            help: rule.help,
            level: sarif_level(rule.severity),
            security_severity: Some(security_severity(rule.severity)),
        })
        .collect();
    let results: Vec<SarifResult<'_>> = reports
        .iter()
        .flat_map(|(prefix, report)| report.findings.iter().map(|f| sarif_result(prefix, f)))
        .collect();
    sarif::render(tool, &rules, &results)
}

fn sarif_result<'a>(prefix: &str, finding: &'a Finding) -> SarifResult<'a> {
    let path = format!("{prefix}{}", finding.file);
    SarifResult {
        rule_id: finding.rule,
        level: sarif_level(finding.severity),
        message: format!("{}: {}", finding.message, finding.evidence),
        path: (!finding.file.is_empty()).then_some(path.into()),
        line: finding.place.map(|place| place.line),
        column: finding.place.map(|place| place.column),
        fingerprint: Some(&finding.fingerprint),
        properties: vec![
            ("severity", finding.severity.as_str()),
            ("confidence", finding.confidence.as_str()),
        ],
    }
}

fn sarif_level(severity: ScanSeverity) -> SarifLevel {
    match severity {
        ScanSeverity::Critical | ScanSeverity::High => SarifLevel::Error,
        ScanSeverity::Medium => SarifLevel::Warning,
        ScanSeverity::Low | ScanSeverity::Info => SarifLevel::Note,
    }
}

/// The middle of the band in which code hosts sort this severity.
fn security_severity(severity: ScanSeverity) -> &'static str {
    match severity {
        ScanSeverity::Critical => "9.5",
        ScanSeverity::High => "8.0",
        ScanSeverity::Medium => "5.5",
        ScanSeverity::Low => "2.0",
        ScanSeverity::Info => "0.0",
    }
}
