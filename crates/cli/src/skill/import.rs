//! `prowess skill import URL`

use prowess_client::{ImportOptions, ImportedSkill};

use super::stored_line::{UNCHANGED, stored_line};
use crate::client::{self, RemoteArgs};
use crate::{Exit, output};

/// Have a server import skills from a URL.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A repository's page or archive, a SKILL.md, or a site with an index of skills; #NAME
    /// selects one of several
    url: String,
    /// Create a version of this skill, by id or name; default: the skill with the same name
    #[arg(long, value_name = "ID")]
    skill: Option<String>,
    /// Note for the new versions
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Make new versions the default
    #[arg(long)]
    default: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let report = client::block_on(async {
        let skill = match &args.skill {
            Some(skill) => Some(client.find(skill).await?.id),
            None => None,
        };
        let options = ImportOptions {
            skill_id: skill.as_deref(),
            notes: args.note.as_deref(),
            default: args.default,
        };
        anyhow::Ok(client.import(&args.url, &options).await?)
    })?;
    let is_refused = |skill: &ImportedSkill| skill.outcome == "refused";
    if args.json {
        output::print_json(&report)?;
    } else {
        for skill in &report.skills {
            let line = describe(skill);
            if is_refused(skill) {
                output::print_error(&line);
            } else {
                output::print_text(&format!("{line}\n"))?;
            }
        }
    }
    Ok(if report.skills.iter().any(is_refused) {
        Exit::Problems
    } else {
        Exit::Ok
    })
}

fn describe(skill: &ImportedSkill) -> String {
    let name = skill.name.as_deref().or(skill.url.as_deref());
    let name = name.unwrap_or("a skill of this URL");
    if let Some(error) = &skill.error {
        return format!("{name}: {error}");
    }
    let what = match (skill.outcome.as_str(), skill.created_skill) {
        ("unchanged", _) => UNCHANGED,
        (_, true) => "new skill",
        (_, false) => "new version",
    };
    let version = skill.version.as_deref().unwrap_or("-");
    let id = skill.skill_id.as_deref().unwrap_or("-");
    let version_id = skill.version_id.as_deref().unwrap_or("-");
    stored_line(name, what, version, id, version_id)
}
