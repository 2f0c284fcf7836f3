//! `POST /v1/runs/{run}/cancel`

use axum::Json;
use axum::extract::State;
use serde_json::Value;

use super::not_kept;
use crate::app::App;
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
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::UseModels)?;
    let tenant = &principal.tenant;
    match cancel::cancel(&app, tenant, &id).await {
        Ok(run) => Ok(Json(render::kept_run(&run))),
        Err(error) => Err(not_kept::explain(&app, tenant, &id, error).await),
    }
}
