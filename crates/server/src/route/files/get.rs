//! `GET /v1/files/{file}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::extract::Path;
use crate::render;

pub(crate) async fn get(
    State(app): State<App>,
    dialect: Dialect,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::ReadFiles)?;
    let file = app.store().file(&caller.tenant, &id).await?;
    Ok(Json(match dialect {
        Dialect::Anthropic(_) => render::anthropic::file(&file),
        Dialect::OpenAi => render::openai::file(&file),
    }))
}
