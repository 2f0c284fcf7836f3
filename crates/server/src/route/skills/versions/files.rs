//! `GET /v1/skills/{skill}/versions/{version}/files`: the files of a version, with sizes and
//! digests. No content is read. No vendor has such a route, so all dialects get the same.

use axum::Json;
use axum::extract::State;
use prowess_store::VersionSelector;
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::ids;

pub(crate) async fn files(
    State(app): State<App>,
    principal: Principal,
    PathParams((id, version)): PathParams<(String, String)>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let selector = VersionSelector::parse(&version)?;
    let id = ids::canonical_skill_id(&id);
    let resolved = app
        .store()
        .resolve(&principal.tenant, id, &selector)
        .await?;
    let version = &resolved.detail.version;
    let files = resolved.detail.manifest.files().iter().map(|file| {
        json!({
            "type": "skill_file",
            "path": file.path.as_str(),
            "size_bytes": file.size,
            "digest": file.digest.to_string(),
            "executable": file.executable,
        })
    });
    Ok(Json(json!({
        "skill_id": version.skill,
        "version_id": version.id,
        "digest": version.digest.to_string(),
        "data": files.collect::<Vec<Value>>(),
        "has_more": false,
    })))
}
