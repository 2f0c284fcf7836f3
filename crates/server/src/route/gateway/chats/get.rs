//! `GET /v1/chat/completions/{id}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::{completion_json, map_store_error};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;

pub(super) async fn get(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let record = app.store().chat(&principal.tenant, &id).await;
    completion_json(&record.map_err(map_store_error(&id))?).map(Json)
}
