//! `DELETE /v1/skills/{skill}`

use axum::Json;
use axum::extract::State;
use prowess_store::SkillDeleteRule;
use serde_json::Value;

use crate::app::App;
use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::{ids, render};

pub(crate) async fn delete(
    State(app): State<App>,
    dialect: ApiDialect,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::PublishSkills)?;
    let rule = match dialect {
        ApiDialect::Anthropic(betas) if betas.skills => SkillDeleteRule::OnlyEmpty,
        _ => SkillDeleteRule::Cascade,
    };
    let id = ids::canonical_skill_id(&id);
    let labels = store.skill_labels(&principal.tenant, &[id]).await?;
    let protected = &app.settings().protected_labels;
    // Deleting it is moving them to nowhere.
    if labels
        .values()
        .flatten()
        .any(|label| protected.contains(&label.name))
    {
        principal.require(Permission::ReleaseSkills)?;
    }
    store.delete_skill(&principal.tenant, id, rule).await?;
    Ok(Json(match dialect {
        ApiDialect::Anthropic(_) => render::anthropic::deleted(id, "skill_deleted"),
        ApiDialect::OpenAi => render::openai::deleted(id, "skill.deleted"),
    }))
}
