//! `prowess skill validate SOURCE…`

use std::path::PathBuf;

use prowess_skill::diagnostic::SourceLocation;
use prowess_skill::rules::{self, DiagnosticRule};
use prowess_skill::sarif::{self, SarifLevel, SarifResult, SarifRule};
use prowess_skill::{BundleLimits, Diagnostic, LoadedSkill, Profile, Severity};
use prowess_source::{Origin, SourceError};
use rayon::prelude::*;
use serde::Serialize;

use super::inputs::{self, SkillInputs};
use crate::fetch::FetchArgs;
use crate::output::{self, ERROR, GOOD, format_count};
use crate::{Exit, display_path, paths, progress, sarif_tool, snippet};

/// Validate skills and explain problems.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folders of skills, skill folders, archives, Markdown files or URLs
    #[arg(required = true, value_name = "SOURCE", value_parser = paths::path_parser())]
    paths: Vec<PathBuf>,
    /// Refuse what the reference validator refuses
    #[arg(long, conflicts_with = "upload")]
    strict: bool,
    /// Refuse what Prowess, Anthropic or OpenAI refuse on upload
    #[arg(long)]
    upload: bool,
    /// Show notes too, not only warnings and errors
    #[arg(long)]
    notes: bool,
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
pub(super) enum ReportFormat {
    /// For people, with the location underlined
    Text,
    /// For programs
    Json,
    /// For code review tools (SARIF 2.1.0)
    Sarif,
}

/// The result for one skill. Its files are dropped at once, so that a large tree needs no
/// more memory than its messages.
struct CheckedSkill {
    origin: Origin,
    verdict: Result<SkillChecks, SourceError>,
}

struct SkillChecks {
    name: Option<String>,
    valid: bool,
    diagnostics: Vec<Diagnostic>,
    /// The rendered diagnostics, if the output format needs them.
    text: String,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let inputs = inputs::open_all(&args.paths, &args.fetch)?;
    let checked = check_all(&inputs, args);
    let summary = Summary::from_checked(&inputs, &checked);
    match args.format() {
        ReportFormat::Text => print_text(args, &checked, &summary)?,
        ReportFormat::Json => print_json(&checked, &summary)?,
        ReportFormat::Sarif => print_sarif(&checked)?,
    }
    Ok(summary.exit_code())
}

impl Args {
    fn profile(&self) -> Profile {
        match (self.strict, self.upload) {
            (true, _) => Profile::Strict,
            (_, true) => Profile::Upload,
            _ => Profile::Lenient,
        }
    }

    fn min_severity(&self) -> Severity {
        if self.notes {
            Severity::Note
        } else {
            Severity::Warning
        }
    }

    fn format(&self) -> ReportFormat {
        if self.json {
            ReportFormat::Json
        } else {
            self.format
        }
    }
}

/// Checks on all cores, in the order of the inputs.
fn check_all(inputs: &SkillInputs, args: &Args) -> Vec<CheckedSkill> {
    let limits = BundleLimits::default();
    let profile = args.profile();
    let bar = progress::items_bar(inputs.origins.len(), "checking");
    let check = |origin: &Origin| {
        let loaded = origin.load(&limits, profile);
        bar.inc(1);
        CheckedSkill {
            origin: origin.clone(),
            verdict: loaded.map(|loaded| check_loaded(origin, loaded, args)),
        }
    };
    let checked = inputs.origins.par_iter().map(check).collect();
    bar.finish_and_clear();
    checked
}

fn check_loaded(origin: &Origin, loaded: LoadedSkill, args: &Args) -> SkillChecks {
    let text = match args.format() {
        ReportFormat::Text => {
            let shown = loaded
                .diagnostics
                .iter()
                .filter(|d| d.severity >= args.min_severity());
            let render = |d| snippet::render(d, origin.path(), loaded.source.as_ref()) + "\n\n";
            shown.map(render).collect()
        }
        ReportFormat::Json | ReportFormat::Sarif => String::new(),
    };
    SkillChecks {
        valid: loaded.is_valid(),
        name: loaded.skill.map(|skill| skill.name),
        diagnostics: loaded.diagnostics,
        text,
    }
}

impl CheckedSkill {
    fn is_valid(&self) -> bool {
        self.verdict.as_ref().is_ok_and(|verdict| verdict.valid)
    }

    fn count(&self, severity: Severity) -> usize {
        let diagnostics = self.verdict.iter().flat_map(|verdict| &verdict.diagnostics);
        diagnostics.filter(|d| d.severity == severity).count()
    }
}

#[derive(Debug, Serialize)]
struct Summary {
    skills: usize,
    valid: usize,
    invalid: usize,
    unreadable: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
}

impl Summary {
    fn from_checked(inputs: &SkillInputs, checked: &[CheckedSkill]) -> Summary {
        let total = |severity| checked.iter().map(|c| c.count(severity)).sum();
        let valid = checked.iter().filter(|c| c.is_valid()).count();
        let failed = |c: &&CheckedSkill| {
            matches!(
                c.verdict,
                Err(SourceError::Io { .. } | SourceError::NotFound(_))
            )
        };
        let unreadable = checked.iter().filter(failed).count();
        Summary {
            skills: checked.len(),
            valid,
            invalid: checked.len() - valid - unreadable,
            unreadable: inputs.unreadable.len() + unreadable,
            errors: total(Severity::Error),
            warnings: total(Severity::Warning),
            notes: total(Severity::Note),
        }
    }

    fn exit_code(&self) -> Exit {
        match (self.unreadable, self.invalid) {
            (0, 0) => Exit::Ok,
            (0, _) => Exit::Problems,
            _ => Exit::Unreadable,
        }
    }
}

fn print_text(args: &Args, checked: &[CheckedSkill], summary: &Summary) -> anyhow::Result<()> {
    for one in checked {
        match &one.verdict {
            Ok(verdict) => output::print_text(&verdict.text)?,
            Err(error) => output::print_error(&error.to_string()),
        }
    }
    let style = if summary.exit_code() == Exit::Ok {
        GOOD
    } else {
        ERROR
    };
    let hidden = match summary.notes {
        notes if notes > 0 && !args.notes => " (--notes shows them)",
        _ => "",
    };
    let unreadable = match summary.unreadable {
        0 => String::new(),
        n => format!(", {n} unreadable"),
    };
    output::print_text(&format!(
        "{style}{}{style:#}: {} valid, {} invalid{unreadable}; {}, {}, {}{hidden}\n",
        format_count(summary.skills, "skill"),
        summary.valid,
        summary.invalid,
        format_count(summary.errors, "error"),
        format_count(summary.warnings, "warning"),
        format_count(summary.notes, "note"),
    ))
}

#[derive(Serialize)]
struct ValidationJson<'a> {
    skills: Vec<SkillJson<'a>>,
    summary: &'a Summary,
}

#[derive(Serialize)]
struct SkillJson<'a> {
    path: String,
    name: Option<&'a str>,
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<&'a [Diagnostic]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorJson>,
}

#[derive(Serialize)]
struct ErrorJson {
    code: &'static str,
    message: String,
}

fn print_json(checked: &[CheckedSkill], summary: &Summary) -> anyhow::Result<()> {
    let skills = checked.iter().map(skill_json).collect();
    output::print_json(&ValidationJson { skills, summary })
}

fn skill_json(checked: &CheckedSkill) -> SkillJson<'_> {
    let verdict = checked.verdict.as_ref();
    SkillJson {
        path: display_path(checked.origin.path()),
        name: verdict.ok().and_then(|verdict| verdict.name.as_deref()),
        valid: checked.is_valid(),
        diagnostics: verdict.ok().map(|verdict| verdict.diagnostics.as_slice()),
        error: verdict.err().map(|error| ErrorJson {
            code: error.code(),
            message: error.to_string(),
        }),
    }
}

fn print_sarif(checked: &[CheckedSkill]) -> anyhow::Result<()> {
    let rules: Vec<_> = rules::ALL.iter().map(|rule| sarif_rule(rule)).collect();
    let results: Vec<_> = checked.iter().flat_map(sarif_results).collect();
    output::print_json(&sarif::render(sarif_tool(), &rules, &results))
}

fn sarif_rule(rule: &'static DiagnosticRule) -> SarifRule<'static> {
    SarifRule {
        id: rule.code,
        title: rule.title,
        description: rule.title,
        help: rule.fix,
        level: sarif_level(rule.severity),
        security_severity: None,
    }
}

fn sarif_results(checked: &CheckedSkill) -> Vec<SarifResult<'_>> {
    let path = checked.origin.path();
    let result =
        |rule_id, level, message, path: String, place: Option<SourceLocation>| SarifResult {
            rule_id,
            level,
            message,
            path: Some(path.into()),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            fingerprint: None,
            properties: Vec::new(),
        };
    match &checked.verdict {
        Ok(verdict) => verdict
            .diagnostics
            .iter()
            .map(|d| {
                let level = sarif_level(d.severity);
                result(
                    d.code,
                    level,
                    d.message.clone(),
                    snippet::file_uri(path, d),
                    d.place,
                )
            })
            .collect(),
        Err(error) => vec![result(
            rules::BUNDLE.code,
            SarifLevel::Error,
            error.to_string(),
            display_path(path),
            None,
        )],
    }
}

fn sarif_level(severity: Severity) -> SarifLevel {
    match severity {
        Severity::Error => SarifLevel::Error,
        Severity::Warning => SarifLevel::Warning,
        Severity::Note => SarifLevel::Note,
    }
}
