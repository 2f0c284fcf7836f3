//! `POST /v1/skills/{skill}/versions/{version}/restore`: a revoked version can be used again. No
//! vendor has such a route; the response is the version in the dialect of the request.

use axum::Json;
use axum::extract::State;
use prowess_store::VersionSelector;
use serde_json::Value;

use super::render_version;
use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::ids;

pub(crate) async fn restore(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    PathParams((id, version)): PathParams<(String, String)>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::PublishSkills)?;
    let selector = VersionSelector::parse(&version)?;
    let id = ids::canonical_skill_id(&id);
    let version = store
        .restore_version(&principal.tenant, id, &selector)
        .await?;
    render_version(&app, dialect, &principal.tenant, &version)
        .await
        .map(Json)
}
