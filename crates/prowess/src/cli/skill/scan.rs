//! `prowess skill scan SOURCE…`

use std::collections::BTreeSet;
use std::path::PathBuf;

use prowess_skill::scan::{Coverage, Finding, Report, ScanLimits, Severity, Status, Subject};
use prowess_skill::{Limits, Options, Skill, scan};
use prowess_source::{Origin, SourceError};
use rayon::prelude::*;

use super::inputs::{self, Inputs};
use super::validate::Format;
use crate::cli::fetch::Fetch;
use crate::cli::output::{self, DIM, ERROR, GOOD, NOTE, STRONG, WARNING, count};
use crate::cli::{Exit, paths, progress, sarif_tool, shown, snippet};

/// Look for attacks and bad habits, without running anything.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folders of skills, skill folders, archives, Markdown files or URLs
    #[arg(required = true, value_name = "SOURCE", value_parser = paths::path())]
    paths: Vec<PathBuf>,
    /// Show findings of at least this severity
    #[arg(long, value_enum, default_value_t = Least::Low)]
    least: Least,
    /// Fail when a skill's status is this or worse
    #[arg(long, value_enum, default_value_t = FailOn::Warn, value_name = "STATUS")]
    fail_on: FailOn,
    /// Leave out findings whose fingerprints this file lists, one on each line
    #[arg(long, value_name = "FILE", value_parser = paths::path())]
    baseline: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    fetch: Fetch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Least {
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

struct Scanned {
    origin: Origin,
    report: Result<Report, SourceError>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let baseline = match &args.baseline {
        Some(file) => read_baseline(file)?,
        None => BTreeSet::new(),
    };
    let inputs = inputs::open_all(&args.paths, &args.fetch)?;
    let scanned = scan_all(&inputs, &baseline);
    match if args.json { Format::Json } else { args.format } {
        Format::Text => print_text(args, &scanned)?,
        Format::Json => print_json(&scanned)?,
        Format::Sarif => print_sarif(&scanned)?,
    }
    Ok(exit(args, &inputs, &scanned))
}

fn read_baseline(file: &PathBuf) -> anyhow::Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| anyhow::anyhow!("{}: cannot be read: {error}", shown(file)))?;
    let lines = text.lines().map(str::trim);
    Ok(lines
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .map(str::to_owned)
        .collect())
}

fn scan_all(inputs: &Inputs, baseline: &BTreeSet<String>) -> Vec<Scanned> {
    let bar = progress::bar(inputs.origins.len(), "scanning");
    let scan = |origin: &Origin| {
        let report = scan_one(origin).map(|report| report.without(baseline));
        bar.inc(1);
        Scanned {
            origin: origin.clone(),
            report,
        }
    };
    let scanned = inputs.origins.par_iter().map(scan).collect();
    bar.finish_and_clear();
    scanned
}

/// A skill whose frontmatter cannot be read is scanned all the same.
fn scan_one(origin: &Origin) -> Result<Report, SourceError> {
    let (bundle, _) = origin.read(&Limits::default())?;
    let name = origin.name();
    let options = Options {
        fallback_name: name.as_deref(),
        ..Options::default()
    };
    let limits = ScanLimits::default();
    Ok(match Skill::load(bundle.clone(), &options).skill {
        Some(skill) => scan::scan(&Subject::of(&skill), &limits),
        None => scan::scan(&Subject::of_bundle(&bundle), &limits),
    })
}

fn exit(args: &Args, inputs: &Inputs, scanned: &[Scanned]) -> Exit {
    let worst = match args.fail_on {
        FailOn::Review => Some(Status::Review),
        FailOn::Warn => Some(Status::Warn),
        FailOn::Malicious => Some(Status::Malicious),
        FailOn::Never => None,
    };
    let failed = |one: &Scanned| match (&one.report, worst) {
        (Ok(report), Some(worst)) => report.status >= worst,
        _ => false,
    };
    if !inputs.unreadable.is_empty() || scanned.iter().any(|one| one.report.is_err()) {
        Exit::Unreadable
    } else if scanned.iter().any(failed) {
        Exit::Problems
    } else {
        Exit::Ok
    }
}

fn print_text(args: &Args, scanned: &[Scanned]) -> anyhow::Result<()> {
    let least = match args.least {
        Least::Info => Severity::Info,
        Least::Low => Severity::Low,
        Least::Medium => Severity::Medium,
        Least::High => Severity::High,
        Least::Critical => Severity::Critical,
    };
    for one in scanned {
        match &one.report {
            Ok(report) => output::out(&page(one, report, least))?,
            Err(error) => output::error(&error.to_string()),
        }
    }
    output::remark(&format!("{} scanned", count(scanned.len(), "skill")));
    Ok(())
}

fn page(one: &Scanned, report: &Report, least: Severity) -> String {
    let style = match report.status {
        Status::Pass => GOOD,
        Status::Review => NOTE,
        Status::Warn => WARNING,
        Status::Malicious => ERROR,
    };
    let mut page = format!(
        "{style}{:<9}{style:#} {STRONG}{}{STRONG:#}\n",
        report.status.as_str(),
        shown(one.origin.path())
    );
    for finding in report.findings.iter().filter(|f| f.severity >= least) {
        page.push_str(&finding_lines(finding));
    }
    if let Coverage::Partial { reasons } = &report.coverage {
        page.push_str("  partial: not everything was looked at\n");
        for gap in reasons {
            let file = gap.file.as_deref().unwrap_or("the skill");
            page.push_str(&format!("    {DIM}{file}: {}{DIM:#}\n", gap.detail));
        }
    }
    page
}

fn finding_lines(finding: &Finding) -> String {
    let style = match finding.severity {
        Severity::Critical | Severity::High => ERROR,
        Severity::Medium => WARNING,
        Severity::Low | Severity::Info => NOTE,
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

fn print_json(scanned: &[Scanned]) -> anyhow::Result<()> {
    let skills: Vec<_> = scanned
        .iter()
        .map(|one| match &one.report {
            Ok(report) => serde_json::json!({ "path": shown(one.origin.path()), "report": report }),
            Err(error) => serde_json::json!({
                "path": shown(one.origin.path()),
                "error": { "code": error.code(), "message": error.to_string() },
            }),
        })
        .collect();
    output::json(&serde_json::json!({ "skills": skills }))
}

fn print_sarif(scanned: &[Scanned]) -> anyhow::Result<()> {
    let prefixes: Vec<String> = scanned
        .iter()
        .map(|one| snippet::prefix(one.origin.path()))
        .collect();
    let reports: Vec<_> = prefixes
        .iter()
        .zip(scanned)
        .filter_map(|(prefix, one)| Some((prefix.as_str(), one.report.as_ref().ok()?)))
        .collect();
    output::json(&scan::to_sarif(sarif_tool(), &reports))
}
