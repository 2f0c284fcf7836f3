//! `DELETE /v1/files/{file}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::Path;
use crate::render;

pub(crate) async fn delete(
    State(app): State<App>,
    dialect: Dialect,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::WriteFiles)?;
    app.store().delete_file(&caller.tenant, &id).await?;
    Ok(Json(match dialect {
        Dialect::Anthropic(_) => render::anthropic::deleted(&id, "file_deleted"),
        Dialect::OpenAi => render::openai::deleted(&id, "file"),
    }))
}
