//! `DELETE /v1/skills/{skill}`

use axum::Json;
use axum::extract::State;
use prowess_store::DeleteSkill;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::Path;
use crate::{ids, render};

pub(crate) async fn delete(
    State(app): State<App>,
    dialect: Dialect,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::PublishSkills)?;
    let rule = match dialect {
        Dialect::Anthropic(betas) if betas.skills => DeleteSkill::OnlyEmpty,
        _ => DeleteSkill::Cascade,
    };
    let id = ids::skill(&id);
    app.store().delete_skill(&caller.tenant, id, rule).await?;
    Ok(Json(match dialect {
        Dialect::Anthropic(_) => render::anthropic::deleted(id, "skill_deleted"),
        Dialect::OpenAi => render::openai::deleted(id, "skill.deleted"),
    }))
}
