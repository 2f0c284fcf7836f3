//! `POST /v1/messages/batches`

use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use prowess_store::{BatchKind, CreateBatchOutcome, NewBatch};
use serde_json::Value;

use super::receive::{attach, receive};
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::batches::anthropic;
use crate::dialect::ApiDialect;
use crate::error::HttpError;
use crate::route::batch_key::{idempotency_key, refuse_provider_key};

/// How long the requests of a batch have to end.
const TIME_TO_END: Duration = Duration::from_secs(24 * 3_600);

/// Prefix of the beta for batches themselves, which their requests do not use.
const BATCH_BETA_PREFIX: &str = "message-batches-";

pub(crate) async fn create(
    State(app): State<App>,
    _: ApiDialect,
    principal: Principal,
    request: Request,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    refuse_provider_key(request.headers())?;
    let tenant = &principal.tenant;
    let _permit = app.transfers().acquire_file_upload(tenant).await?;
    let settings = app.settings().batches;
    let new = NewBatch {
        kind: BatchKind::Messages,
        dialect: "messages",
        api_key: principal.key_id(),
        metadata: "{}",
        input_file: None,
        output_lifetime: settings.result_lifetime,
        expires_in: TIME_TO_END,
    };
    let (store, limits) = (app.store(), settings.tenant_limits());
    let key = idempotency_key(request.headers())?;
    let batch = match key {
        None => store.create_batch(tenant, &new, &limits).await?,
        Some(key) => match store.create_batch_once(tenant, &new, &limits, &key).await? {
            CreateBatchOutcome::Created(batch) => *batch,
            CreateBatchOutcome::Existing(batch) => {
                let batch = attach(&app, *batch, request.into_body()).await?;
                return Ok(Json(anthropic::batch(&batch)));
            }
        },
    };
    let betas = requested_betas(request.headers());
    let started = receive(&app, batch, betas.as_deref(), request.into_body()).await?;
    app.batch_wake().notify_one();
    Ok(Json(anthropic::batch(&started)))
}

/// The betas that a batch is created with, for its requests.
fn requested_betas(headers: &HeaderMap) -> Option<String> {
    let lines = headers.get_all("anthropic-beta").into_iter();
    let names = lines.filter_map(|line| line.to_str().ok());
    let names = names.flat_map(|line| line.split(',')).map(str::trim);
    let names = names.filter(|name| !name.is_empty() && !name.starts_with(BATCH_BETA_PREFIX));
    let betas = names.collect::<Vec<_>>().join(",");
    (!betas.is_empty()).then_some(betas)
}
