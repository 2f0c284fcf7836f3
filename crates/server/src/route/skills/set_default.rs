//! `POST /v1/skills/{skill}`: sets the default version.

use axum::extract::{FromRequest, Request, State};
use serde::Deserialize;
use serde_json::Value;

use super::labelled;
use super::version_field::VersionField;
use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::{Json, PathParams};
use crate::{ids, render};

#[derive(Debug, Deserialize)]
struct Change {
    default_version: VersionField,
}

pub(crate) async fn set_default(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    PathParams(id): PathParams<String>,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    principal.require(Permission::PublishSkills)?;
    let Json(change): Json<Change> = Json::from_request(request, &app).await?;
    let selector = change.default_version.selector()?;
    let id = ids::canonical_skill_id(&id);
    let skill = store
        .set_default_version(&principal.tenant, id, &selector)
        .await?;
    let object = match dialect {
        ApiDialect::Anthropic(betas) => render::anthropic::skill(&skill, betas.skills),
        ApiDialect::OpenAi => render::openai::skill(&skill)?,
    };
    let object = labelled::skill(&app, &principal.tenant, object).await?;
    Ok(axum::Json(object))
}
