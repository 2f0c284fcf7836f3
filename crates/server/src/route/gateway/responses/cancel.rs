//! `POST /v1/responses/{id}/cancel`

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::kept;
use crate::app::App;
use crate::audit::ChangedNothing;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::kept_runs::cancel;
use crate::stored_answer::StoredAnswer;

/// Cancels a response in the background. Every other stored response is complete: there is
/// nothing to cancel.
pub(super) async fn cancel(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let tenant = &principal.tenant;
    let mut answer = StoredAnswer::begin(&app, tenant).await?;
    let kept = kept::find(&app, tenant, &id, &mut answer).await?;
    let Some(run) = kept.filter(|run| run.request().background) else {
        app.store().load_response(tenant, &id).await?;
        return Err(HttpError::bad_request(
            "response-not-cancellable",
            "Cannot cancel a synchronous response.",
        ));
    };
    answer.give_permit_back();
    let cancelled = cancel::cancel(&app, tenant, run.run()).await?;
    let object = run.response_object().await?.to_string();
    if cancelled.had_ended {
        // With its output, which may be large.
        answer.count([object.as_str()]).await?;
    }
    let headers = [(CONTENT_TYPE, "application/json")];
    let response = answer.send((headers, object).into_response());
    Ok(ChangedNothing::mark_if(cancelled.had_ended, response))
}
