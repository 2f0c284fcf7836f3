//! `POST /v1/skills/{skill}/versions/{version}/revoke`: nothing can use the version any more,
//! but it stays stored. No vendor has such a route; the response is the version in the dialect of
//! the request.

use axum::extract::{FromRequest, Request, State};
use prowess_store::{NewRevocation, VersionSelector};
use serde::Deserialize;
use serde_json::Value;

use super::super::version_field::VersionField;
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
struct RevocationBody {
    reason: String,
    /// Where the default and the labels of the version move.
    move_to: Option<VersionField>,
}

pub(crate) async fn revoke(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    PathParams((id, version)): PathParams<(String, String)>,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    principal.require(Permission::PublishSkills)?;
    let selector = VersionSelector::parse(&version)?;
    let Json(body): Json<RevocationBody> = Json::from_request(request, &app).await?;
    let move_to = body.move_to.as_ref().map(VersionField::selector);
    let move_to = move_to.transpose()?;
    let locked_labels = match principal.require(Permission::ReleaseSkills) {
        Ok(()) => &[][..],
        Err(_) => &app.settings().protected_labels,
    };
    let revocation = NewRevocation {
        reason: &body.reason,
        move_to: move_to.as_ref(),
        locked_labels,
    };
    let id = ids::canonical_skill_id(&id);
    let version = store
        .revoke_version(&principal.tenant, id, &selector, &revocation)
        .await?;
    render_version(&app, dialect, &principal.tenant, &version)
        .await
        .map(axum::Json)
}
