//! `DELETE /v1/skills/{skill}/versions/{version}`

use axum::Json;
use prowess_store::{VersionDeleteRule, VersionSelector};
use serde_json::{Value, json};

use crate::audit::AuditedStore;
use crate::auth::{Permission, Principal};
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::{ids, render};

pub(crate) async fn delete(
    dialect: ApiDialect,
    principal: Principal,
    AuditedStore(store): AuditedStore,
    PathParams((id, version)): PathParams<(String, String)>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::PublishSkills)?;
    let selector = VersionSelector::parse(&version)?;
    let rule = match dialect {
        ApiDialect::Anthropic(betas) if betas.skills => VersionDeleteRule::ANTHROPIC_BETA,
        ApiDialect::Anthropic(_) => VersionDeleteRule::ANTHROPIC,
        ApiDialect::OpenAi => VersionDeleteRule::OPENAI,
    };
    let deleted = store
        .delete_version(
            &principal.tenant,
            ids::canonical_skill_id(&id),
            &selector,
            rule,
        )
        .await?;
    let version = &deleted.version;
    Ok(Json(match dialect {
        // The beta identifies a version by its number, here as well.
        ApiDialect::Anthropic(betas) if betas.skills => {
            render::anthropic::deleted(&version.number.to_string(), "skill_version_deleted")
        }
        ApiDialect::Anthropic(_) => {
            render::anthropic::deleted(&version.id, "skill_version_deleted")
        }
        ApiDialect::OpenAi => json!({
            "id": version.id,
            "object": "skill.version.deleted",
            "deleted": true,
            "version": version.ordinal.to_string(),
        }),
    }))
}
