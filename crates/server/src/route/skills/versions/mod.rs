//! `/v1/skills/{skill}/versions`: one file per verb.

pub(super) mod content;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod file;
pub(super) mod files;
pub(super) mod get;
pub(super) mod list;
pub(super) mod preview;
pub(super) mod restore;
pub(super) mod revoke;
pub(super) mod update;

use prowess_store::{TenantId, VersionRecord};
use serde_json::Value;

use super::labelled;
use crate::app::App;
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::render;

/// A version in a dialect, with its labels.
async fn render_version(
    app: &App,
    dialect: ApiDialect,
    tenant: &TenantId,
    version: &VersionRecord,
) -> Result<Value, HttpError> {
    let object = match dialect {
        ApiDialect::Anthropic(betas) => render::anthropic::version(version, betas.skills),
        ApiDialect::OpenAi => render::openai::version(version),
    };
    labelled::version(app, tenant, &version.skill, object).await
}
