//! `prowess skill list --server`

use comfy_table::{ContentArrangement, Table, presets};
use prowess_client::RemoteSkill;
use serde_json::{Value, json};

use crate::client::{self, RemoteArgs};
use crate::output::{self, first_line, format_count};
use crate::{Exit, format_date};

/// Lists the skills of a server, newest first, or those that match a query, best first.
pub(super) fn run(remote: &RemoteArgs, query: Option<&str>, as_json: bool) -> anyhow::Result<Exit> {
    let client = remote.connect()?;
    let skills = client::block_on(async { Ok(client.skills(query).await?) })?;
    if as_json {
        output::print_json(
            &json!({ "skills": skills.iter().map(skill_json).collect::<Vec<_>>() }),
        )?;
        return Ok(Exit::Ok);
    }
    if !skills.is_empty() {
        output::print_text(&format!("{}\n", skills_table(&skills).trim_fmt()))?;
    }
    output::print_remark(&format_count(skills.len(), "skill"));
    Ok(Exit::Ok)
}

fn skills_table(skills: &[RemoteSkill]) -> Table {
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
            format_date(skill.created_at),
            first_line(&skill.description),
        ]);
    }
    table
}

fn skill_json(skill: &RemoteSkill) -> Value {
    json!({
        "name": skill.name,
        "skill": skill.id,
        "description": skill.description,
        "default_version": skill.default_version,
        "latest_version": skill.latest_version,
        "created_at": format_date(skill.created_at),
    })
}
