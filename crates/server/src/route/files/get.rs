//! `GET /v1/files/{file}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::Error as StoreError;

use super::{Shape, Visitor, google};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::dialect::{Dialect, IsGoogle};
use crate::error::ApiError;
use crate::extract::Path;
use crate::render;

pub(crate) async fn get(
    State(app): State<App>,
    dialect: Dialect,
    IsGoogle(is_google): IsGoogle,
    caller: Caller,
    visitor: Visitor,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    if is_google {
        return google::get(State(app), dialect, caller, visitor, Path(id)).await;
    }
    caller.may(Need::ReadFiles)?;
    let file = match app.store().file(&caller.tenant, &id).await {
        Err(missing @ StoreError::NotFound { .. }) => {
            let found = visitor.seek(&app, &caller, &id, missing).await?;
            return found.about(Shape::File).await;
        }
        found => found?,
    };
    let told = match dialect {
        Dialect::Anthropic(_) => render::anthropic::file(&file),
        Dialect::OpenAi => render::openai::file(&file),
    };
    Ok(Json(told).into_response())
}
