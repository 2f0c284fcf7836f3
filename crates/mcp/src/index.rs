//! `skill://index.json`: the index from before the extension had its own methods. Some
//! clients read only this.

use crate::extension;
use crate::session::McpSessionState;
use crate::uri;
use prowess_toolbox::Member;
use rmcp::model::ResourceContents;
use serde_json::{Value, json};

const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// The index in the discovery format 0.2.0.
pub(crate) fn index_contents(state: &McpSessionState) -> ResourceContents {
    let skills = state.skills();
    let published = skills
        .members
        .iter()
        .filter(|member| extension::conforms(member));
    let entries: Vec<Value> = published.map(entry).collect();
    let index = json!({ "$schema": SCHEMA, "skills": entries });
    ResourceContents::text(index.to_string(), uri::INDEX_URI).with_mime_type("application/json")
}

fn entry(member: &Member) -> Value {
    let skill = &member.skill;
    let path = skill.bundle.skill_file().as_str();
    let digest = skill.manifest.get(path).map(|file| file.digest.hex());
    json!({
        "name": skill.name,
        "type": "skill-md",
        "description": skill.description,
        "url": uri::skill_file(&skill.name, path),
        "digest": digest.map(|hex| format!("sha256:{hex}")),
    })
}
