//! `POST /v1/messages/batches/{message_batch}/cancel`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use prowess_store::BatchKind;

use crate::app::App;
use crate::audit::ChangedNothing;
use crate::auth::{Permission, Principal};
use crate::batches::anthropic;
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn cancel(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let (tenant, kind) = (&principal.tenant, BatchKind::Messages);
    let before = app.store().batch(tenant, kind, &id).await?;
    let cancelled = app.store().cancel_batch(tenant, kind, &id).await?;
    app.batch_wake().notify_one();
    let response = Json(anthropic::batch(&cancelled)).into_response();
    Ok(ChangedNothing::mark_if(
        !before.state.is_cancellable(),
        response,
    ))
}
