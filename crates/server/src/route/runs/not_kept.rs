//! The error for a run that can be read, and neither followed nor cancelled.

use axum::http::StatusCode;
use prowess_store::TenantId;

use crate::app::App;
use crate::error::HttpError;

/// Says why a run is not found among the kept ones, if the tenant has it.
pub(super) async fn explain(
    app: &App,
    tenant: &TenantId,
    run: &str,
    error: HttpError,
) -> HttpError {
    if error.status != StatusCode::NOT_FOUND || app.store().run(tenant, run).await.is_err() {
        return error;
    }
    let message = "this run is not kept, or ended more than a day ago: only kept runs can be \
                   followed and cancelled; others end when their client leaves";
    HttpError::new(StatusCode::CONFLICT, "run-not-kept", message).without_retry()
}
