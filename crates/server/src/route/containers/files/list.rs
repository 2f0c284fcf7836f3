//! `GET /v1/containers/{container}/files`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::super::page;
use super::told;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::{Path, Query};
use crate::page::limit;

pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    query: Query,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let limit = limit(&query, 20)?;
    let files = app.engine().containers(&caller.tenant).files(&id).await?;
    let files = files.iter().map(|file| told(&id, file)).collect();
    Ok(Json(page(files, query.get("after"), limit)))
}
