//! `POST /v1/batches`

use std::time::Duration;

use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use prowess_store::{BatchKind, BatchRecord, CreateBatchOutcome, NewBatch};
use prowess_wire::excerpt;
use serde_json::{Map, Value};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::batches::openai::{self, COMPLETION_WINDOW, ENDPOINTS};
use crate::error::HttpError;
use crate::extract::Json;
use crate::metadata;
use crate::route::batch_key::{idempotency_key, refuse_provider_key, reused_error};

/// How long the requests of a batch have to end.
const TIME_TO_END: Duration = Duration::from_secs(24 * 3_600);
/// Values of `output_expires_after.seconds`.
const OUTPUT_SECONDS: std::ops::RangeInclusive<u64> = 3_600..=2_592_000;

pub(crate) async fn create(
    State(app): State<App>,
    principal: Principal,
    request: Request,
) -> Result<axum::Json<Value>, HttpError> {
    // Checked before the body is read.
    principal.require(Permission::UseModels)?;
    principal.require(Permission::ReadFiles)?;
    refuse_provider_key(request.headers())?;
    let key = idempotency_key(request.headers())?;
    let Json(body) = Json::<Map<String, Value>>::from_request(request, &app).await?;
    let dialect = parse_endpoint(&body)?;
    if text(&body, "completion_window")? != COMPLETION_WINDOW {
        let message = format!("it must be `{COMPLETION_WINDOW}`");
        return Err(invalid("completion_window", &message));
    }
    let metadata = metadata::to_json(&metadata::parse(body.get("metadata"))?).to_string();
    let file = text(&body, "input_file_id")?;
    let settings = app.settings().batches;
    let new = NewBatch {
        kind: BatchKind::File,
        dialect,
        api_key: principal.key_id(),
        metadata: &metadata,
        input_file: Some(file),
        output_lifetime: parse_output_lifetime(&body, settings.result_lifetime)?,
        expires_in: TIME_TO_END,
    };
    let batch = create_batch(&app, &principal, &new, key).await?;
    app.batch_wake().notify_one();
    Ok(axum::Json(openai::batch(&batch)))
}

/// Creates a batch, or finds the one that the same request has created.
async fn create_batch(
    app: &App,
    principal: &Principal,
    new: &NewBatch<'_>,
    key: Option<String>,
) -> Result<BatchRecord, HttpError> {
    let (store, tenant) = (app.store(), &principal.tenant);
    let limits = app.settings().batches.tenant_limits();
    if let Some(key) = &key
        && let Some(batch) = store.find_created_batch(tenant, new.kind, key).await?
    {
        // Whatever became of its file.
        return check_same(batch, new);
    }
    check_file(app, principal, new.input_file.unwrap_or_default()).await?;
    let Some(key) = key else {
        return Ok(store.create_batch(tenant, new, &limits).await?);
    };
    match store.create_batch_once(tenant, new, &limits, &key).await? {
        CreateBatchOutcome::Created(batch) => Ok(*batch),
        CreateBatchOutcome::Existing(batch) => check_same(*batch, new),
    }
}

/// The batch of an earlier request with the same idempotency key, if that was the same request.
fn check_same(batch: BatchRecord, new: &NewBatch<'_>) -> Result<BatchRecord, HttpError> {
    let is_same = batch.input_file.as_deref() == new.input_file
        && batch.dialect == new.dialect
        && batch.metadata == new.metadata;
    match is_same {
        true => Ok(batch),
        false => Err(reused_error(&batch.id)),
    }
}

fn parse_endpoint(body: &Map<String, Value>) -> Result<&'static str, HttpError> {
    let endpoint = text(body, "endpoint")?;
    let mut all = ENDPOINTS.into_iter();
    let found = all.find(|(own, _)| *own == endpoint);
    found.map(|(_, dialect)| dialect).ok_or_else(|| {
        let known = ENDPOINTS.map(|(endpoint, _)| endpoint).join(", ");
        let message = format!("`{}` is not one of {known}", excerpt(endpoint));
        invalid("endpoint", &message)
    })
}

/// Refuses a file that cannot be the requests of a batch.
async fn check_file(app: &App, principal: &Principal, id: &str) -> Result<(), HttpError> {
    let file = app.store().file(&principal.tenant, id).await?;
    if file.purpose != "batch" {
        let message = format!(
            "file `{id}` has the purpose `{}`; upload it with the purpose `batch`",
            file.purpose
        );
        return Err(invalid("input_file_id", &message));
    }
    let limit = app.settings().batches.max_bytes;
    if u64::try_from(file.size).unwrap_or_default() > limit {
        let message =
            format!("input_file_id: the file has more than {limit} bytes; use several batches");
        let error = HttpError::new(StatusCode::PAYLOAD_TOO_LARGE, "batch-too-large", message);
        return Err(error.with_detail("param", "input_file_id"));
    }
    Ok(())
}

fn parse_output_lifetime(
    body: &Map<String, Value>,
    default: Duration,
) -> Result<Duration, HttpError> {
    let expiry = match body.get("output_expires_after") {
        None | Some(Value::Null) => return Ok(default),
        Some(expiry) => expiry,
    };
    let anchor = expiry.get("anchor").and_then(Value::as_str);
    let seconds = expiry.get("seconds").and_then(Value::as_u64);
    match (anchor, seconds) {
        (Some("created_at"), Some(seconds)) if OUTPUT_SECONDS.contains(&seconds) => {
            Ok(Duration::from_secs(seconds))
        }
        _ => {
            let message = "it must have the anchor `created_at` and 3600 to 2592000 seconds";
            Err(invalid("output_expires_after", message))
        }
    }
}

fn text<'a>(body: &'a Map<String, Value>, field: &str) -> Result<&'a str, HttpError> {
    let value = body.get(field).and_then(Value::as_str);
    let value = value.filter(|value| !value.is_empty());
    value.ok_or_else(|| invalid(field, "it must be a string that is not empty"))
}

fn invalid(field: &str, message: &str) -> HttpError {
    let message = format!("{field}: {message}");
    HttpError::bad_request("batch-invalid", message).with_detail("param", field)
}
