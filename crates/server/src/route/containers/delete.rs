//! `DELETE /v1/containers/{container}`

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
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    app.engine().containers(&caller.tenant).delete(&id).await?;
    Ok(Json(deleted(&id, "container.deleted")))
}
