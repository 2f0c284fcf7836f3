//! `GET /v1/containers/{container}/files`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::super::list_page;
use super::container_file_json;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{PathParams, Query};
use crate::page::parse_limit;

pub(crate) async fn list(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
    query: Query,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let limit = parse_limit(&query, 20)?;
    let files = app
        .engine()
        .containers(&principal.tenant)
        .files(&id)
        .await?;
    let files = files
        .iter()
        .map(|file| container_file_json(&id, file))
        .collect();
    Ok(Json(list_page(files, query.get("after"), limit)))
}
