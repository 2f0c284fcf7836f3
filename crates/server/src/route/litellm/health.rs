//! `GET /health`, `/health/liveliness`, `/health/liveness`, `/health/readiness`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::model_info::ConfiguredModel;
use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;

/// The process runs.
pub(super) async fn alive() -> Json<&'static str> {
    Json("I'm alive!")
}

/// Requests can be served and the store is writable. Public.
pub(super) async fn ready(State(app): State<App>) -> Response {
    if app.is_draining() {
        let body = json!({ "status": "unhealthy", "db": "connected" });
        return (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response();
    }
    match app.store().check_ready().await {
        Ok(()) => Json(json!({ "status": "healthy", "db": "connected" })).into_response(),
        Err(unready) => {
            let (part, code) = (unready.part, unready.code);
            tracing::warn!(part, code, cause = unready.cause, "not ready");
            let body = json!({ "status": "unhealthy", "db": "Not connected" });
            (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
        }
    }
}

/// The models that can be called. None is called to find out.
pub(super) async fn models(
    State(app): State<App>,
    principal: Principal,
) -> Result<Json<Value>, HttpError> {
    principal.require(Permission::Browse)?;
    let models = ConfiguredModel::all(&app, &principal);
    let endpoints: Vec<Value> = models
        .iter()
        .map(|model| json!({ "model": model.model, "model_name": model.name }))
        .collect();
    Ok(Json(json!({
        "healthy_endpoints": endpoints,
        "unhealthy_endpoints": [],
        "healthy_count": endpoints.len(),
        "unhealthy_count": 0,
    })))
}
