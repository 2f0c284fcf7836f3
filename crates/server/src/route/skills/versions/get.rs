//! `GET /v1/skills/{skill}/versions/{version}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::VersionSelector;

use super::render_version;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::ids;

pub(crate) async fn get(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    PathParams((id, version)): PathParams<(String, String)>,
) -> Result<Response, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let selector = VersionSelector::parse(&version)?;
    let store = app.store();
    let version = store
        .version(&principal.tenant, ids::canonical_skill_id(&id), &selector)
        .await?;
    let object = render_version(&app, dialect, &principal.tenant, &version).await?;
    // For clients that read no other fields than the vendors'.
    let digest = [("prowess-digest", version.digest.to_string())];
    Ok((digest, Json(object)).into_response())
}
