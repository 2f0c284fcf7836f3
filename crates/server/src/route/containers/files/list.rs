//! `GET /v1/containers/{container}/files`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

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
    let limit = usize::try_from(parse_limit(&query, 20)?).unwrap_or(usize::MAX);
    let containers = app.engine().containers(&principal.tenant);
    // Before there is a permit, which others need meanwhile. An error is found again below.
    let _ = containers.wait_while_used(&id).await;
    let _permit = app.transfers().acquire_list(&principal.tenant).await?;
    let found = containers.files_after(&id, query.get("after"), limit);
    let (files, has_more) = found.await?;
    let files = files.iter();
    let files = files.map(|file| container_file_json(&id, file)).collect();
    Ok(Json(crate::render::openai::list(files, has_more)))
}
