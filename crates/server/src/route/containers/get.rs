//! `GET /v1/containers/{container}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::container_json;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn get(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let containers = app.engine().containers(&principal.tenant);
    Ok(Json(container_json(&containers.get(&id).await?)))
}
