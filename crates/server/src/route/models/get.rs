//! `GET /v1/models/{model}`

use axum::Json;
use axum::extract::State;
use prowess_provider::Target;
use serde_json::Value;

use super::{google, object, unknown};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::{Dialect, IsGoogle};
use crate::error::ApiError;
use crate::extract::Path;

/// Whatever can be called is there, also when no list names it.
pub(crate) async fn get(
    State(app): State<App>,
    dialect: Dialect,
    IsGoogle(is_google): IsGoogle,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::Look)?;
    let providers = app.settings().providers.as_ref();
    let route = providers.and_then(|providers| providers.route(&name).ok());
    let route = route.filter(|_| caller.may_use(&name));
    let route = route.ok_or_else(|| unknown(&name))?;
    if is_google {
        return Ok(Json(google(&name)));
    }
    let provider = route.targets().first().map(Target::provider);
    Ok(Json(object(dialect, &name, provider.unwrap_or_default())))
}
