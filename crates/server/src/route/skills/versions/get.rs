//! `GET /v1/skills/{skill}/versions/{version}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::VersionSelector;

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
    Path((id, version)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    caller.may(Need::ReadSkills)?;
    let selector = VersionSelector::parse(&version)?;
    let store = app.store();
    let version = store
        .version(&caller.tenant, ids::skill(&id), &selector)
        .await?;
    let object = match dialect {
        Dialect::Anthropic(betas) => render::anthropic::version(&version, betas.skills),
        Dialect::OpenAi => render::openai::version(&version),
    };
    // The vendors' objects have no place for it.
    let digest = [("prowess-digest", version.digest.to_string())];
    Ok((digest, Json(object)).into_response())
}
