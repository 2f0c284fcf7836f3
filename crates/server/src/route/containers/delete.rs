//! `DELETE /v1/containers/{container}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::render::openai::deleted;

pub(crate) async fn delete(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    app.engine()
        .containers(&principal.tenant)
        .delete(&id)
        .await?;
    Ok(Json(deleted(&id, "container.deleted")))
}
