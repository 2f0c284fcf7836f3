//! `GET /.well-known/skills/index.json` and the files it lists.

use axum::extract::State;
use axum::response::Response;
use prowess_skill::Bundle;
use serde_json::{Value, json};

use super::{catalogue, not_found_error, public_response, single_files};
use crate::app::App;
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn index(State(app): State<App>) -> Result<Response, HttpError> {
    let skills = catalogue::list_skills(&app).await?;
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
    Ok(public_response(
        "application/json",
        json!({ "skills": skills }).to_string(),
    ))
}

/// Files are served as data, never as a page.
pub(crate) async fn file(
    State(app): State<App>,
    PathParams((name, path)): PathParams<(String, String)>,
) -> Result<Response, HttpError> {
    let resolved = catalogue::find_skill(&app, &name).await?;
    let kind = if path.ends_with(".md") {
        "text/markdown; charset=utf-8"
    } else {
        "application/octet-stream"
    };
    let named = |bundle: &Bundle| bundle.get(&path).map(|file| file.data.clone());
    let found = single_files::send(&app, &resolved, kind, named).await?;
    found.ok_or_else(|| not_found_error(&format!("{name}/{path}")))
}
