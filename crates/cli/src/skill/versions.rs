//! `prowess skill versions SKILL`

use comfy_table::{ContentArrangement, Table, presets};
use prowess_client::{RemoteSkill, VersionState};
use serde_json::{Value, json};

use crate::client::{self, RemoteArgs};
use crate::output::{self, first_line, format_count, strip_controls};
use crate::{Exit, format_date};

/// List the versions of a skill on a server, newest first, with their notes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill's id or name
    skill: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let (skill, versions) = client::block_on(async {
        let skill = client.find(&args.skill).await?;
        let versions = client.version_states(&skill.id).await?;
        anyhow::Ok((skill, versions))
    })?;
    if args.json {
        let versions: Vec<_> = versions.iter().map(|v| version_json(&skill, v)).collect();
        output::print_json(&versions)?;
    } else {
        output::print_text(&format!(
            "{}\n",
            versions_table(&skill, &versions).trim_fmt()
        ))?;
        output::print_remark(&format!(
            "{} {}: {}",
            skill.name,
            skill.id,
            format_count(versions.len(), "version")
        ));
    }
    Ok(Exit::Ok)
}

fn versions_table(skill: &RemoteSkill, versions: &[VersionState]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["VERSION", "ID", "CREATED", "NOTES OR DESCRIPTION"]);
    for state in versions {
        let version = &state.version;
        let mut marks = state.labels.clone();
        if version.version == skill.default_version {
            marks.insert(0, "default".to_owned());
        }
        if state.revoked.is_some() {
            marks.push("revoked".to_owned());
        }
        marks.insert(0, version.version.clone());
        let text = match (&state.revoked, &state.notes) {
            (Some(revoked), _) => strip_controls(&format!("revoked: {}", revoked.reason), false),
            (None, Some(notes)) => first_line(notes),
            (None, None) => strip_controls(&version.description, false),
        };
        table.add_row([
            marks.join(" "),
            version.id.clone(),
            format_date(version.created_at),
            text,
        ]);
    }
    table
}

fn version_json(skill: &RemoteSkill, state: &VersionState) -> Value {
    let version = &state.version;
    json!({
        "skill": skill.id,
        "name": skill.name,
        "version": version.version,
        "id": version.id,
        "default": version.version == skill.default_version,
        "description": version.description,
        "created_at": format_date(version.created_at),
        "labels": state.labels,
        "notes": state.notes,
        "revoked": state.revoked,
    })
}
