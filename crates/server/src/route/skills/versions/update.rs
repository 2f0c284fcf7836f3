//! `POST /v1/skills/{skill}/versions/{version}`: sets or removes the notes of a version. No
//! vendor has such a route; the response is the version in the dialect of the request.

use axum::extract::{FromRequest, Request, State};
use prowess_store::VersionSelector;
use serde::Deserialize;
use serde_json::Value;

use super::render_version;
use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::{Json, PathParams};
use crate::ids;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionChange {
    notes: Option<String>,
}

pub(crate) async fn update(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    PathParams((id, version)): PathParams<(String, String)>,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    principal.require(Permission::PublishSkills)?;
    let selector = VersionSelector::parse(&version)?;
    let Json(change): Json<VersionChange> = Json::from_request(request, &app).await?;
    let id = ids::canonical_skill_id(&id);
    let version = store
        .set_version_notes(&principal.tenant, id, &selector, change.notes.as_deref())
        .await?;
    render_version(&app, dialect, &principal.tenant, &version)
        .await
        .map(axum::Json)
}
