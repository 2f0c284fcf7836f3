//! `DELETE /v1/files/{file}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::Error as StoreError;

use super::{Shape, Visitor};
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
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    caller.may(Need::WriteFiles)?;
    match app.store().delete_file(&caller.tenant, &id).await {
        Err(missing @ StoreError::NotFound { .. }) => {
            let found = visitor.seek(&app, &caller, &id, missing).await?;
            return found.delete(Shape::File).await;
        }
        deleted => deleted?,
    }
    let told = match dialect {
        Dialect::Anthropic(_) => render::anthropic::deleted(&id, "file_deleted"),
        Dialect::OpenAi => render::openai::deleted(&id, "file"),
    };
    Ok(Json(told).into_response())
}
