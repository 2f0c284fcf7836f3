//! `GET /v1/conversations/{id}/items/{item}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::parse_item;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::route::gateway::conversations::map_store_error;

pub(in super::super) async fn get(
    State(app): State<App>,
    principal: Principal,
    PathParams((id, item)): PathParams<(String, String)>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let store = app.store();
    let found = store.conversation_item(&principal.tenant, &id, &item).await;
    parse_item(&found.map_err(map_store_error(&id))?).map(Json)
}
