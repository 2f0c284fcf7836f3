//! `GET /v1/conversations/{id}/items/{item}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::parse_item;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::route::gateway::conversations::map_store_error;
use crate::stored_answer::StoredAnswer;

pub(in super::super) async fn get(
    State(app): State<App>,
    principal: Principal,
    PathParams((id, item)): PathParams<(String, String)>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let mut answer = StoredAnswer::begin(&app, &principal.tenant).await?;
    let store = app.store();
    let found = store.conversation_item(&principal.tenant, &id, &item).await;
    let found = found.map_err(map_store_error(&id))?;
    answer.count([found.as_str()]).await?;
    Ok(answer.send(Json(parse_item(&found)?).into_response()))
}
