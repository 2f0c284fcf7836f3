//! `GET /v1/skills/{skill}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::labelled;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::{ids, render};

pub(crate) async fn get(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::ReadSkills)?;
    let skill = app
        .store()
        .skill(&principal.tenant, ids::canonical_skill_id(&id))
        .await?;
    let object = match dialect {
        ApiDialect::OpenAi => render::openai::skill(&skill)?,
        // Only the beta allows a skill without versions.
        ApiDialect::Anthropic(betas) if !betas.skills && skill.latest.is_none() => {
            return Err(prowess_store::Error::NoVersion { skill: skill.id }.into());
        }
        ApiDialect::Anthropic(betas) => render::anthropic::skill(&skill, betas.skills),
    };
    let object = labelled::skill(&app, &principal.tenant, object).await?;
    Ok(Json(object))
}
