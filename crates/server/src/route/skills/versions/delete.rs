//! `DELETE /v1/skills/{skill}/versions/{version}`

use axum::Json;
use axum::extract::State;
use prowess_store::{DeleteVersion, VersionSelector};
use serde_json::{Value, json};

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
    Path((id, version)): Path<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::PublishSkills)?;
    let selector = VersionSelector::parse(&version)?;
    let rule = match dialect {
        Dialect::Anthropic(betas) if betas.skills => DeleteVersion::ANTHROPIC_BETA,
        Dialect::Anthropic(_) => DeleteVersion::ANTHROPIC,
        Dialect::OpenAi => DeleteVersion::OPENAI,
    };
    let store = app.store();
    let deleted = store
        .delete_version(&caller.tenant, ids::skill(&id), &selector, rule)
        .await?;
    let version = &deleted.version;
    Ok(Json(match dialect {
        // The beta names a version by its number, also here.
        Dialect::Anthropic(betas) if betas.skills => {
            render::anthropic::deleted(&version.number.to_string(), "skill_version_deleted")
        }
        Dialect::Anthropic(_) => render::anthropic::deleted(&version.id, "skill_version_deleted"),
        Dialect::OpenAi => json!({
            "id": version.id,
            "object": "skill.version.deleted",
            "deleted": true,
            "version": version.ordinal.to_string(),
        }),
    }))
}
