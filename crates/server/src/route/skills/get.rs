//! `GET /v1/skills/{skill}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::Path;
use crate::{ids, render};

pub(crate) async fn get(
    State(app): State<App>,
    dialect: Dialect,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::ReadSkills)?;
    let skill = app.store().skill(&caller.tenant, ids::skill(&id)).await?;
    match dialect {
        Dialect::OpenAi => render::openai::skill(&skill).map(Json),
        // Only the beta lets a skill be without versions.
        Dialect::Anthropic(betas) if !betas.skills && skill.latest.is_none() => {
            Err(prowess_store::Error::NoVersion { skill: skill.id }.into())
        }
        Dialect::Anthropic(betas) => Ok(Json(render::anthropic::skill(&skill, betas.skills))),
    }
}
