//! `GET /v1/containers/{container}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::told;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Path;

pub(crate) async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let containers = app.engine().containers(&caller.tenant);
    Ok(Json(told(&containers.get(&id).await?)))
}
