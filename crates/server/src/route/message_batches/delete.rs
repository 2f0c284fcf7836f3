//! `DELETE /v1/messages/batches/{message_batch}`

use axum::Json;
use axum::extract::State;
use prowess_store::BatchKind;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::render::anthropic::deleted;

pub(crate) async fn delete(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let kind = BatchKind::Messages;
    app.store()
        .delete_batch(&principal.tenant, kind, &id)
        .await?;
    Ok(Json(deleted(&id, "message_batch_deleted")))
}
