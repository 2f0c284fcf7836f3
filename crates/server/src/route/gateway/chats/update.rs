//! `POST /v1/chat/completions/{id}`: replaces its metadata.

use axum::extract::{FromRequest, Request, State};
use serde_json::{Map, Value};

use super::{completion_json, map_store_error};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{Json, PathParams};
use crate::metadata;

pub(super) async fn update(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let Json(body) = Json::<Map<String, Value>>::from_request(request, &app).await?;
    let metadata = metadata::parse_replacement(&body)?;
    let store = app.store();
    let record = store.update_chat(&principal.tenant, &id, &metadata).await;
    completion_json(&record.map_err(map_store_error(&id))?).map(axum::Json)
}
