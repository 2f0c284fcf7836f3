//! `DELETE /v1/conversations/{id}`

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::map_store_error;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;

/// Deletes a conversation. Responses stored separately remain.
pub(super) async fn delete(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let deleted = app
        .store()
        .delete_conversation(&principal.tenant, &id)
        .await;
    deleted.map_err(map_store_error(&id))?;
    Ok(Json(
        json!({ "id": id, "object": "conversation.deleted", "deleted": true }),
    ))
}
