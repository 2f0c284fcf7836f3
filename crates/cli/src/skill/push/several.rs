//! `prowess skill push` of a source with several skills: each is uploaded, whatever becomes of
//! the others.

use std::collections::BTreeMap;

use prowess_client::{Client, Error};
use prowess_skill::{BundleLimits, LoadedSkill, Profile, Severity};
use prowess_source::Origin;
use serde_json::{Value, json};

use super::{Args, describe, is_unchanged, pushed_json, upload};
use crate::output::{self, format_count};
use crate::skill::inputs::SkillInputs;
use crate::{Exit, client, display_path, snippet, usage_error};

/// What became of the skills of a source.
#[derive(Default)]
struct PushReport {
    /// For `--json`.
    skills: Vec<Value>,
    pushed: usize,
    unchanged: usize,
    /// Where the skill of each name comes from.
    places: BTreeMap<String, String>,
}

/// A skill that was not uploaded.
struct Refusal {
    name: Option<String>,
    why: String,
}

pub(super) fn run(args: &Args, inputs: &SkillInputs) -> anyhow::Result<Exit> {
    let total = inputs.origins.len() + inputs.unreadable.len();
    if args.skill.is_some() || args.title.is_some() {
        let message = format!(
            "--skill and --title are for one skill, and {} has {total}",
            display_path(&args.path)
        );
        return Err(usage_error(message));
    }
    let server = args.remote.connect()?;
    let mut report = PushReport::default();
    for error in &inputs.unreadable {
        // It is printed already.
        let why = error.to_string();
        report.skills.push(refused_json(None, None, &why));
    }
    let ended = client::block_on(async {
        for origin in &inputs.origins {
            push(args, &server, origin, &mut report).await?;
        }
        anyhow::Ok(())
    });
    if ended.is_ok() || !report.skills.is_empty() {
        report.print_summary(args, total)?;
    }
    ended?;
    let stored = report.pushed + report.unchanged;
    Ok(if stored == total {
        Exit::Ok
    } else {
        Exit::Problems
    })
}

/// Pushes a skill, and reports it. An error is one that every other skill would get, too.
async fn push(
    args: &Args,
    server: &Client,
    origin: &Origin,
    report: &mut PushReport,
) -> anyhow::Result<()> {
    let place = display_path(origin.path());
    if let Err(refusal) = try_push(args, server, origin, report).await? {
        output::print_error(&format!("{place}: not uploaded: {}", refusal.why));
        let name = refusal.name.as_deref();
        report
            .skills
            .push(refused_json(name, Some(&place), &refusal.why));
    }
    Ok(())
}

async fn try_push(
    args: &Args,
    server: &Client,
    origin: &Origin,
    report: &mut PushReport,
) -> anyhow::Result<Result<(), Refusal>> {
    let loaded = match origin.load(&BundleLimits::default(), Profile::Upload) {
        Ok(loaded) => loaded,
        Err(error) => {
            let why = error.to_string();
            return Ok(Err(Refusal { name: None, why }));
        }
    };
    snippet::print_problems(&loaded, origin.path());
    let Some(skill) = loaded.skill.as_ref().filter(|_| loaded.is_valid()) else {
        let name = loaded.skill.as_ref().map(|skill| skill.name.clone());
        let why = first_error(&loaded);
        return Ok(Err(Refusal { name, why }));
    };
    let name = Some(skill.name.clone());
    // Each would become a version of the other, again at every push.
    if let Some(first) = report.places.get(&skill.name) {
        let why = format!("{first} has the same name, `{}`", skill.name);
        return Ok(Err(Refusal { name, why }));
    }
    let place = display_path(origin.path());
    report.places.insert(skill.name.clone(), place);
    let pushed = match upload(args, server, skill).await {
        Ok(pushed) => pushed,
        Err(error) if concerns_all(&error) => return Err(error.into()),
        Err(error) => {
            let why = format!("{:#}", anyhow::Error::from(error));
            return Ok(Err(Refusal { name, why }));
        }
    };
    if is_unchanged(&pushed) {
        report.unchanged += 1;
    } else {
        report.pushed += 1;
    }
    report.skills.push(pushed_json(skill, &pushed));
    if !args.json {
        output::print_text(&format!("{}\n", describe(skill, &pushed)))?;
    }
    Ok(Ok(()))
}

/// The first error of a skill, and what to do about it; all are shown above it.
fn first_error(loaded: &LoadedSkill) -> String {
    let mut errors = loaded.diagnostics.iter();
    let first = errors.find(|found| found.severity == Severity::Error);
    let Some(first) = first else {
        return "it is not a skill".to_owned();
    };
    let fix = first.fix.map(|fix| format!(". {fix}")).unwrap_or_default();
    format!("{} ({}){fix}", first.message, first.code)
}

/// The code of an upload for which the tenant has no room left. A smaller skill, or one that is
/// stored already, may still find a place.
const NO_ROOM: &str = "storage-quota-exceeded";

/// Whether an error says nothing about the skill: the server is not there, or refuses the key.
fn concerns_all(error: &Error) -> bool {
    match error {
        Error::HttpClient(_)
        | Error::InvalidServerUrl(_)
        | Error::InvalidKey
        | Error::Unreachable { .. }
        | Error::Redirected { .. } => true,
        Error::Refused { status, code, .. } => matches!(status, 401 | 403) && code != NO_ROOM,
        _ => false,
    }
}

fn refused_json(name: Option<&str>, path: Option<&str>, why: &str) -> Value {
    json!({ "name": name, "path": path, "outcome": "refused", "error": why })
}

impl PushReport {
    /// Prints all skills as JSON, or how many became what.
    fn print_summary(&self, args: &Args, total: usize) -> anyhow::Result<()> {
        if args.json {
            return output::print_json(&self.skills);
        }
        let left = total - self.pushed - self.unchanged;
        let counts = [
            (self.pushed, "pushed"),
            (self.unchanged, "unchanged"),
            (left, "not uploaded"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let total = format_count(total, "skill");
        output::print_text(&format!("{total}: {}\n", counts.join(", ")))
    }
}
