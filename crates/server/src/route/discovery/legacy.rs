//! `GET /.well-known/skills/index.json` and the files it lists.

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};

use super::{catalogue, not_here, public};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Path;

pub(crate) async fn index(State(app): State<App>) -> Result<Response, ApiError> {
    let skills = catalogue::all(&app).await?;
    let entry = |(name, resolved): (String, std::sync::Arc<prowess_store::ResolvedSkill>)| {
        let detail = &resolved.detail;
        let files: Vec<_> = detail
            .manifest
            .files()
            .iter()
            .map(|f| f.path.as_str())
            .collect();
        json!({ "name": name, "description": detail.version.description, "files": files })
    };
    let skills: Vec<Value> = skills.into_iter().map(entry).collect();
    Ok(public(
        "application/json",
        json!({ "skills": skills }).to_string(),
    ))
}

/// A file is data to whoever fetches it here, never a page.
pub(crate) async fn file(
    State(app): State<App>,
    Path((name, path)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let resolved = catalogue::one(&app, &name).await?;
    let skill = app.store().load(&resolved).await?;
    let file = skill
        .bundle
        .get(&path)
        .ok_or_else(|| not_here(&format!("{name}/{path}")))?;
    let kind = match path.ends_with(".md") {
        true => "text/markdown; charset=utf-8",
        false => "application/octet-stream",
    };
    Ok(public(kind, file.data.clone()))
}
