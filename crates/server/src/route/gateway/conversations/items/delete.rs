//! `DELETE /v1/conversations/{id}/items/{item}`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Path;
use crate::route::gateway::conversations::{failed, shown};

/// Takes an item out; gives the conversation.
pub(in super::super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path((id, item)): Path<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let (store, tenant) = (app.store(), &caller.tenant);
    let deleted = store.delete_conversation_item(tenant, &id, &item).await;
    deleted.map_err(failed(&id))?;
    let record = store.conversation(tenant, &id).await;
    Ok(Json(shown(&record.map_err(failed(&id))?)))
}
