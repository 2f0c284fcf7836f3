//! `POST /v1/messages/batches`

use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use prowess_store::{BatchKind, NewBatch};
use serde_json::Value;

use super::receive::receive;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::batches::anthropic;
use crate::dialect::ApiDialect;
use crate::error::HttpError;

/// How long the requests of a batch have to end.
const TIME_TO_END: Duration = Duration::from_secs(24 * 3_600);

pub(crate) async fn create(
    State(app): State<App>,
    _: ApiDialect,
    principal: Principal,
    request: Request,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let tenant = &principal.tenant;
    let _permit = app.transfers().acquire_file_upload(tenant).await?;
    let new = NewBatch {
        kind: BatchKind::Messages,
        dialect: "messages",
        api_key: principal.key_id(),
        metadata: "{}",
        input_file: None,
        output_lifetime: Duration::ZERO,
        expires_in: TIME_TO_END,
    };
    let limits = app.settings().batches.tenant_limits();
    let batch = app.store().create_batch(tenant, &new, &limits).await?;
    let started = receive(&app, batch, request.into_body()).await?;
    app.batch_wake().notify_one();
    Ok(Json(anthropic::batch(&started)))
}
