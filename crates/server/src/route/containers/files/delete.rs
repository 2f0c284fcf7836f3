//! `DELETE /v1/containers/{container}/files/{file}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Path;
use crate::render::openai::deleted;

pub(crate) async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path((id, file)): Path<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let containers = app.engine().containers(&caller.tenant);
    containers.remove(&id, &file).await?;
    Ok(Json(deleted(&file, "container.file.deleted")))
}
