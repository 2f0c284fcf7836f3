//! `GET /v1/chat/completions/{id}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::{completion_json, map_store_error};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::stored_answer::StoredAnswer;

pub(super) async fn get(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let mut answer = StoredAnswer::begin(&app, &principal.tenant).await?;
    let record = app.store().chat(&principal.tenant, &id).await;
    let record = record.map_err(map_store_error(&id))?;
    answer.count([record.completion.as_str()]).await?;
    Ok(answer.send(Json(completion_json(&record)?).into_response()))
}
