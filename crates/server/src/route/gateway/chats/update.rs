//! `POST /v1/chat/completions/{id}`: replaces its metadata.

use axum::extract::{FromRequest, Request, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

use super::{completion_json, map_store_error};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::{Json, PathParams};
use crate::metadata;
use crate::stored_answer::StoredAnswer;

pub(super) async fn update(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
    request: Request,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let Json(body) = Json::<Map<String, Value>>::from_request(request, &app).await?;
    let metadata = metadata::parse_replacement(&body)?;
    let mut answer = StoredAnswer::begin(&app, &principal.tenant).await?;
    let store = app.store();
    let record = store.update_chat(&principal.tenant, &id, &metadata).await;
    let record = record.map_err(map_store_error(&id))?;
    answer.count([record.completion.as_str()]).await?;
    Ok(answer.send(axum::Json(completion_json(&record)?).into_response()))
}
