//! `prowess skill list --server`

use comfy_table::{ContentArrangement, Table, presets};
use prowess_client::SkillRecord;
use serde_json::{Value, json};

use crate::cli::client::{self, Remote};
use crate::cli::output::{self, count};
use crate::cli::{Exit, date};

/// Lists the skills of a server, newest first, or those that fit a query, best first.
pub(super) fn run(remote: &Remote, query: Option<&str>, as_json: bool) -> anyhow::Result<Exit> {
    let client = remote.connect()?;
    let skills = client::block_on(async { Ok(client.skills(query).await?) })?;
    if as_json {
        output::json(&json!({ "skills": skills.iter().map(json).collect::<Vec<_>>() }))?;
        return Ok(Exit::Ok);
    }
    if !skills.is_empty() {
        output::out(&format!("{}\n", table(&skills).trim_fmt()))?;
    }
    output::remark(&count(skills.len(), "skill"));
    Ok(Exit::Ok)
}

fn table(skills: &[SkillRecord]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["NAME", "ID", "VERSION", "CREATED", "DESCRIPTION"]);
    for skill in skills {
        table.add_row([
            skill.name.clone(),
            skill.id.clone(),
            skill.latest_version.clone(),
            date(skill.created_at),
            super::list::first_line(&skill.description),
        ]);
    }
    table
}

fn json(skill: &SkillRecord) -> Value {
    json!({
        "name": skill.name,
        "skill": skill.id,
        "description": skill.description,
        "default_version": skill.default_version,
        "latest_version": skill.latest_version,
        "created_at": date(skill.created_at),
    })
}
