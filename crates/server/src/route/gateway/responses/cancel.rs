//! `POST /v1/responses/{id}/cancel`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::kept;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::kept_runs::cancel;

/// Cancels a response in the background. Every other stored response is complete: there is
/// nothing to cancel.
pub(super) async fn cancel(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let kept = kept::find(&app, &principal.tenant, &id).await?;
    if let Some(run) = kept.filter(|run| run.request().background) {
        cancel::cancel(&app, &principal.tenant, run.run()).await?;
        return Ok(Json(run.response_object().await?));
    }
    app.store().load_response(&principal.tenant, &id).await?;
    Err(HttpError::bad_request(
        "response-not-cancellable",
        "Cannot cancel a synchronous response.",
    ))
}
