//! `POST /v1/batches/{batch}/cancel`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use prowess_store::{BatchKind, BatchState};

use crate::app::App;
use crate::audit::ChangedNothing;
use crate::auth::{Permission, Principal};
use crate::batches::openai;
use crate::error::HttpError;
use crate::extract::PathParams;

pub(crate) async fn cancel(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let (tenant, kind) = (&principal.tenant, BatchKind::File);
    let before = app.store().batch(tenant, kind, &id).await?;
    let batch = app.store().cancel_batch(tenant, kind, &id).await?;
    if batch.state.is_terminal() && batch.state != BatchState::Cancelled {
        let message = format!(
            "batch `{id}` has ended as {}; it cannot be cancelled",
            batch.state.as_str()
        );
        let error = HttpError::new(StatusCode::CONFLICT, "batch-ended", message);
        return Err(error.without_retry());
    }
    app.batch_wake().notify_one();
    let response = Json(openai::batch(&batch)).into_response();
    Ok(ChangedNothing::mark_if(
        !before.state.is_cancellable(),
        response,
    ))
}
