//! `POST /v1/messages/batches/{message_batch}/cancel`

use axum::Json;
use axum::extract::State;
use prowess_store::BatchKind;
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::batches::anthropic;
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn cancel(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let kind = BatchKind::Messages;
    let cancelled = app.store().cancel_batch(&principal.tenant, kind, &id);
    let cancelled = cancelled.await?;
    app.batch_wake().notify_one();
    Ok(Json(anthropic::batch(&cancelled)))
}
