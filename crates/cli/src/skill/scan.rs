//! `prowess skill scan SOURCE…`

use std::collections::BTreeSet;
use std::path::PathBuf;

use prowess_skill::scan::{
    Coverage, Finding, ScanLimits, ScanReport, ScanSeverity, ScanStatus, Subject,
};
use prowess_skill::{BundleLimits, LoadOptions, Skill, scan};
use prowess_source::{Origin, SourceError};
use rayon::prelude::*;

use super::inputs::{self, SkillInputs};
use super::validate::ReportFormat;
use crate::fetch::FetchArgs;
use crate::output::{self, DIM, ERROR, GOOD, NOTE, STRONG, WARNING, format_count};
use crate::{Exit, display_path, paths, progress, sarif_tool, snippet};

/// Scan skills for security problems, without running anything.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folders of skills, skill folders, archives, Markdown files or URLs
    #[arg(required = true, value_name = "SOURCE", value_parser = paths::path_parser())]
    paths: Vec<PathBuf>,
    /// Show findings of at least this severity
    #[arg(long, value_enum, default_value_t = MinSeverity::Low)]
    least: MinSeverity,
    /// Fail when a skill's status is this or worse
    #[arg(long, value_enum, default_value_t = FailOn::Warn, value_name = "STATUS")]
    fail_on: FailOn,
    /// Ignore findings whose fingerprints this file lists, one per line
    #[arg(long, value_name = "FILE", value_parser = paths::path_parser())]
    baseline: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MinSeverity {
    Info,
    Low,
    Medium,
    High,
    Critical,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    Review,
    Warn,
    Malicious,
    Never,
}

struct ScannedSkill {
    origin: Origin,
    report: Result<ScanReport, SourceError>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let baseline = match &args.baseline {
        Some(file) => read_baseline(file)?,
        None => BTreeSet::new(),
    };
    let inputs = inputs::open_all(&args.paths, &args.fetch)?;
    let scanned = scan_all(&inputs, &baseline);
    match if args.json {
        ReportFormat::Json
    } else {
        args.format
    } {
        ReportFormat::Text => print_text(args, &scanned)?,
        ReportFormat::Json => print_json(&scanned)?,
        ReportFormat::Sarif => print_sarif(&scanned)?,
    }
    Ok(exit_code(args, &inputs, &scanned))
}

fn read_baseline(file: &PathBuf) -> anyhow::Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| anyhow::anyhow!("{}: cannot be read: {error}", display_path(file)))?;
    let lines = text.lines().map(str::trim);
    Ok(lines
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .map(str::to_owned)
        .collect())
}

fn scan_all(inputs: &SkillInputs, baseline: &BTreeSet<String>) -> Vec<ScannedSkill> {
    let bar = progress::items_bar(inputs.origins.len(), "scanning");
    let scan = |origin: &Origin| {
        let report = scan_one(origin).map(|report| report.without_baseline(baseline));
        bar.inc(1);
        ScannedSkill {
            origin: origin.clone(),
            report,
        }
    };
    let scanned = inputs.origins.par_iter().map(scan).collect();
    bar.finish_and_clear();
    scanned
}

/// A skill whose frontmatter cannot be read is scanned anyway.
fn scan_one(origin: &Origin) -> Result<ScanReport, SourceError> {
    let (bundle, _) = origin.read(&BundleLimits::default())?;
    let name = origin.name();
    let options = LoadOptions {
        fallback_name: name.as_deref(),
        ..LoadOptions::default()
    };
    let limits = ScanLimits::default();
    Ok(match Skill::load(bundle.clone(), &options).skill {
        Some(skill) => scan::scan(&Subject::from_skill(&skill), &limits),
        None => scan::scan(&Subject::from_bundle(&bundle), &limits),
    })
}

fn exit_code(args: &Args, inputs: &SkillInputs, scanned: &[ScannedSkill]) -> Exit {
    let worst = match args.fail_on {
        FailOn::Review => Some(ScanStatus::Review),
        FailOn::Warn => Some(ScanStatus::Warn),
        FailOn::Malicious => Some(ScanStatus::Malicious),
        FailOn::Never => None,
    };
    let failed = |skill: &ScannedSkill| match (&skill.report, worst) {
        (Ok(report), Some(worst)) => report.status >= worst,
        _ => false,
    };
    if !inputs.unreadable.is_empty() || scanned.iter().any(|skill| skill.report.is_err()) {
        Exit::Unreadable
    } else if scanned.iter().any(failed) {
        Exit::Problems
    } else {
        Exit::Ok
    }
}

fn print_text(args: &Args, scanned: &[ScannedSkill]) -> anyhow::Result<()> {
    let least = match args.least {
        MinSeverity::Info => ScanSeverity::Info,
        MinSeverity::Low => ScanSeverity::Low,
        MinSeverity::Medium => ScanSeverity::Medium,
        MinSeverity::High => ScanSeverity::High,
        MinSeverity::Critical => ScanSeverity::Critical,
    };
    for skill in scanned {
        match &skill.report {
            Ok(report) => output::print_text(&render_report(skill, report, least))?,
            Err(error) => output::print_error(&error.to_string()),
        }
    }
    output::print_remark(&format!("{} scanned", format_count(scanned.len(), "skill")));
    Ok(())
}

fn render_report(skill: &ScannedSkill, report: &ScanReport, least: ScanSeverity) -> String {
    let style = match report.status {
        ScanStatus::Pass => GOOD,
        ScanStatus::Review => NOTE,
        ScanStatus::Warn => WARNING,
        ScanStatus::Malicious => ERROR,
    };
    let mut page = format!(
        "{style}{:<9}{style:#} {STRONG}{}{STRONG:#}\n",
        report.status.as_str(),
        display_path(skill.origin.path())
    );
    for finding in report.findings.iter().filter(|f| f.severity >= least) {
        page.push_str(&finding_lines(finding));
    }
    if let Coverage::Partial { reasons } = &report.coverage {
        page.push_str("  partial: not everything was scanned\n");
        for gap in reasons {
            let file = gap.file.as_deref().unwrap_or("the skill");
            page.push_str(&format!("    {DIM}{file}: {}{DIM:#}\n", gap.detail));
        }
    }
    page
}

fn finding_lines(finding: &Finding) -> String {
    let style = match finding.severity {
        ScanSeverity::Critical | ScanSeverity::High => ERROR,
        ScanSeverity::Medium => WARNING,
        ScanSeverity::Low | ScanSeverity::Info => NOTE,
    };
    let place = match finding.place {
        Some(place) => format!("{}:{}:{}", finding.file, place.line, place.column),
        None => finding.file.clone(),
    };
    format!(
        "  {style}{}{style:#} {} {DIM}({} confidence){DIM:#} {place}\n    {}\n    {DIM}{}{DIM:#}\n    {}\n",
        finding.severity.as_str(),
        finding.rule,
        finding.confidence.as_str(),
        finding.message,
        finding.evidence,
        finding.remedy,
    )
}

fn print_json(scanned: &[ScannedSkill]) -> anyhow::Result<()> {
    let skills: Vec<_> = scanned
        .iter()
        .map(|skill| match &skill.report {
            Ok(report) => {
                serde_json::json!({ "path": display_path(skill.origin.path()), "report": report })
            }
            Err(error) => serde_json::json!({
                "path": display_path(skill.origin.path()),
                "error": { "code": error.code(), "message": error.to_string() },
            }),
        })
        .collect();
    output::print_json(&serde_json::json!({ "skills": skills }))
}

fn print_sarif(scanned: &[ScannedSkill]) -> anyhow::Result<()> {
    let prefixes: Vec<String> = scanned
        .iter()
        .map(|skill| snippet::path_prefix(skill.origin.path()))
        .collect();
    let reports: Vec<_> = prefixes
        .iter()
        .zip(scanned)
        .filter_map(|(prefix, skill)| Some((prefix.as_str(), skill.report.as_ref().ok()?)))
        .collect();
    output::print_json(&scan::to_sarif(sarif_tool(), &reports))
}
