//! `prowess skill versions SKILL`

use comfy_table::{ContentArrangement, Table, presets};
use prowess_client::{SkillRecord, VersionRecord};
use serde_json::{Value, json};

use crate::cli::client::{self, Remote};
use crate::cli::output::{self, count};
use crate::cli::{Exit, date};

/// List the versions of a skill on a server, newest first.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill's id or name
    skill: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let (skill, versions) = client::block_on(async {
        let skill = client.find(&args.skill).await?;
        let versions = client.versions(&skill.id).await?;
        anyhow::Ok((skill, versions))
    })?;
    if args.json {
        let versions: Vec<_> = versions.iter().map(|v| as_json(&skill, v)).collect();
        output::json(&versions)?;
    } else {
        output::out(&format!("{}\n", table(&skill, &versions).trim_fmt()))?;
        output::remark(&format!(
            "{} {}: {}",
            skill.name,
            skill.id,
            count(versions.len(), "version")
        ));
    }
    Ok(Exit::Ok)
}

fn table(skill: &SkillRecord, versions: &[VersionRecord]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["VERSION", "ID", "CREATED", "DESCRIPTION"]);
    for version in versions {
        let mark = if version.version == skill.default_version {
            " default"
        } else {
            ""
        };
        table.add_row([
            format!("{}{mark}", version.version),
            version.id.clone(),
            date(version.created_at),
            version.description.clone(),
        ]);
    }
    table
}

fn as_json(skill: &SkillRecord, version: &VersionRecord) -> Value {
    json!({
        "skill": skill.id,
        "name": skill.name,
        "version": version.version,
        "id": version.id,
        "default": version.version == skill.default_version,
        "description": version.description,
        "created_at": date(version.created_at),
    })
}
