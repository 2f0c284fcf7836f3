//! `GET /v1/models/{model}`

use axum::Json;
use axum::extract::State;
use prowess_provider::Target;
use serde_json::Value;

use super::{google_model_json, model_json, not_found_error};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::dialect::{ApiDialect, IsGoogle};
use crate::error::HttpError;
use crate::extract::PathParams;

/// Every callable model is found, even if no list names it.
pub(crate) async fn get(
    State(app): State<App>,
    dialect: ApiDialect,
    IsGoogle(is_google): IsGoogle,
    principal: Principal,
    PathParams(name): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::Browse)?;
    let providers = app.settings().providers.as_ref();
    let route = providers
        .and_then(|providers| providers.route(&name).ok())
        .filter(|_| principal.can_use_model(&name))
        .ok_or_else(|| not_found_error(&name))?;
    let target = route.targets().first();
    let known = target.and_then(Target::known_model);
    if is_google {
        return Ok(Json(google_model_json(&name, known)));
    }
    let provider = target.map(Target::provider).unwrap_or_default();
    Ok(Json(model_json(dialect, &name, provider, known)))
}
