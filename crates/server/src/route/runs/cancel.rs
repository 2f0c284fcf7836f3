//! `POST /v1/runs/{run}/cancel`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};

use super::not_kept;
use crate::app::App;
use crate::audit::ChangedNothing;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::extract::PathParams;
use crate::kept_runs::cancel;
use crate::render;

/// Cancels a kept run. One that has ended stays as it is.
pub(crate) async fn cancel(
    State(app): State<App>,
    principal: Principal,
    PathParams(id): PathParams<String>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    let tenant = &principal.tenant;
    match cancel::cancel(&app, tenant, &id).await {
        Ok(cancelled) => {
            let response = Json(render::kept_run(&cancelled.run)).into_response();
            Ok(ChangedNothing::mark_if(cancelled.had_ended, response))
        }
        Err(error) => Err(not_kept::explain(&app, tenant, &id, error).await),
    }
}
