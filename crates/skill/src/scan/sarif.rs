//! A scan's report as SARIF.

use serde_json::Value;

use super::finding::{Finding, Severity};
use super::report::Report;
use super::rules::RULES;
use crate::sarif::{self, Level, ResultInfo, RuleInfo, Tool};

impl Report {
    /// The report as a SARIF 2.1.0 log, with every rule of the scanner.
    pub fn to_sarif(&self, tool: Tool<'_>) -> Value {
        to_sarif(tool, &[("", self)])
    }
}

/// Several reports as one SARIF 2.1.0 log. Each comes with what to put before
/// the paths of its files.
pub fn to_sarif(tool: Tool<'_>, reports: &[(&str, &Report)]) -> Value {
    let rules: Vec<RuleInfo<'_>> = RULES
        .iter()
        .map(|rule| RuleInfo {
            id: rule.id,
            title: rule.title,
            description: rule.description,
            help: rule.help,
            level: level(rule.severity),
            security_severity: Some(score(rule.severity)),
        })
        .collect();
    let results: Vec<ResultInfo<'_>> = reports
        .iter()
        .flat_map(|(prefix, report)| report.findings.iter().map(|f| result(prefix, f)))
        .collect();
    sarif::render(tool, &rules, &results)
}

fn result<'a>(prefix: &str, finding: &'a Finding) -> ResultInfo<'a> {
    let path = format!("{prefix}{}", finding.file);
    ResultInfo {
        rule_id: finding.rule,
        level: level(finding.severity),
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

fn level(severity: Severity) -> Level {
    match severity {
        Severity::Critical | Severity::High => Level::Error,
        Severity::Medium => Level::Warning,
        Severity::Low | Severity::Info => Level::Note,
    }
}

/// The middle of the band in which code hosts sort this severity.
fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.0",
        Severity::Info => "0.0",
    }
}
