//! `DELETE /v1/conversations/{id}`

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::failed;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;
use crate::extract::Path;

/// Forgets a conversation. Answers that are kept by themselves stay.
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::UseModels)?;
    let deleted = app.store().delete_conversation(&caller.tenant, &id).await;
    deleted.map_err(failed(&id))?;
    Ok(Json(
        json!({ "id": id, "object": "conversation.deleted", "deleted": true }),
    ))
}
