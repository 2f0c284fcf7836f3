//! `DELETE /v1/responses/{id}`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use prowess_store::{Error as StoreError, TenantId};
use serde_json::{Value, json};

use super::kept;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::kept_runs::cancel;
use crate::stored_answer::StoredAnswer;

/// Deletes a response, also one in the background: one that is in progress is cancelled. Later
/// responses of the conversation keep its items.
pub(super) async fn delete(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let tenant = &principal.tenant;
    let was_kept = match kept_run(&app, tenant, &id).await? {
        Some(run) => delete_run(&app, tenant, &run).await?,
        None => false,
    };
    // Its run has stored it before it ended.
    match app.store().delete_response(tenant, &id).await {
        Err(StoreError::NotFound { .. }) if was_kept => {}
        deleted => deleted?,
    }
    Ok(Json(
        json!({ "id": id, "object": "response", "deleted": true }),
    ))
}

/// The id of the kept run of a response, if it has one.
async fn kept_run(app: &App, tenant: &TenantId, id: &str) -> Result<Option<String>, HttpError> {
    let mut answer = StoredAnswer::begin(app, tenant).await?;
    let kept = kept::find(app, tenant, id, &mut answer).await?;
    Ok(kept.map(|kept| kept.run().to_owned()))
}

/// Deletes the run of a response, which has the response and its events too. Returns whether it
/// was there.
async fn delete_run(app: &App, tenant: &TenantId, run: &str) -> Result<bool, HttpError> {
    let ended = cancel::cancel(app, tenant, run).await?;
    if !ended.run.state.is_terminal() {
        let message = "the response is being cancelled; delete it again in a moment";
        return Err(HttpError::new(
            StatusCode::CONFLICT,
            "response-in-progress",
            message,
        ));
    }
    Ok(app.store().delete_ended_run(tenant, run).await?)
}
