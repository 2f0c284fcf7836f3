//! `GET /.well-known/agent-skills/index.json`

use axum::extract::State;
use axum::response::Response;
use prowess_store::ResolvedSkill;
use serde_json::{Value, json};

use super::{archives, catalogue, public_response};
use crate::app::App;
use crate::error::HttpError;

const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

pub(crate) async fn index(State(app): State<App>) -> Result<Response, HttpError> {
    let mut skills = Vec::new();
    for (name, resolved) in catalogue::list_skills(&app).await? {
        skills.push(entry(&app, &name, &resolved).await?);
    }
    let index = json!({ "$schema": SCHEMA, "skills": skills });
    Ok(public_response("application/json", index.to_string()))
}

/// A skill with one file is listed as that file; any other as an archive.
async fn entry(app: &App, name: &str, resolved: &ResolvedSkill) -> Result<Value, HttpError> {
    let (kind, url, digest) = match resolved.detail.manifest.files() {
        [only] if only.path.as_str() == "SKILL.md" => {
            ("skill-md", format!("{name}/SKILL.md"), only.digest)
        }
        _ => {
            let digest = archives::digest(app, resolved).await?;
            ("archive", format!("{name}.tar.gz"), digest)
        }
    };
    Ok(json!({
        "name": name,
        "type": kind,
        "description": resolved.detail.version.description,
        "url": url,
        "digest": digest,
    }))
}
