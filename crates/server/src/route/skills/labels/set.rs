//! `POST /v1/skills/{skill}/labels/{label}`: creates a label, or moves it.

use axum::extract::{FromRequest, Request, State};
use prowess_store::LabelName;
use serde::Deserialize;
use serde_json::Value;

use super::super::version_field::VersionField;
use super::require_label;
use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::Principal;
use crate::error::HttpError;
use crate::extract::{Json, PathParams};
use crate::ids;
use crate::render::release;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelTarget {
    version: VersionField,
}

pub(crate) async fn set(
    State(app): State<App>,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    PathParams((id, label)): PathParams<(String, String)>,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    require_label(&app, &principal, &label)?;
    let name = LabelName::parse(&label)?;
    let Json(target): Json<LabelTarget> = Json::from_request(request, &app).await?;
    let selector = target.version.selector()?;
    let id = ids::canonical_skill_id(&id);
    let label = store
        .set_label(&principal.tenant, id, &name, &selector)
        .await?;
    let protected = &app.settings().protected_labels;
    Ok(axum::Json(release::label(&label, protected)))
}
