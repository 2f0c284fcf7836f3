//! `GET /v1/models/{model}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::{object, unknown};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::Path;

pub(crate) async fn get(
    State(app): State<App>,
    dialect: Dialect,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::Look)?;
    let known = app.settings().models.contains(&name);
    known
        .then(|| Json(object(dialect, &name)))
        .ok_or_else(|| unknown(&name))
}
