//! `POST /v1/batches/{batch}/cancel`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use prowess_store::{BatchKind, BatchState};
use serde_json::Value;

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::batches::openai;
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn cancel(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let kind = BatchKind::File;
    let batch = app.store().cancel_batch(&principal.tenant, kind, &id);
    let batch = batch.await?;
    if batch.state.is_terminal() && batch.state != BatchState::Cancelled {
        let message = format!(
            "batch `{id}` has ended as {}; it cannot be cancelled",
            batch.state.as_str()
        );
        let error = HttpError::new(StatusCode::CONFLICT, "batch-ended", message);
        return Err(error.without_retry());
    }
    app.batch_wake().notify_one();
    Ok(Json(openai::batch(&batch)))
}
