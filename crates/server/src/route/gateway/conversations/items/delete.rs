//! `DELETE /v1/conversations/{id}/items/{item}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::route::gateway::conversations::{conversation_json, map_store_error};

/// Deletes an item; returns the conversation.
pub(in super::super) async fn delete(
    State(app): State<App>,
    principal: Principal,
    PathParams((id, item)): PathParams<(String, String)>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let (store, tenant) = (app.store(), &principal.tenant);
    let deleted = store.delete_conversation_item(tenant, &id, &item).await;
    deleted.map_err(map_store_error(&id))?;
    let record = store.conversation(tenant, &id).await;
    Ok(Json(conversation_json(
        &record.map_err(map_store_error(&id))?,
    )))
}
