//! `GET /health`, `/health/liveliness`, `/health/liveness`, `/health/readiness`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::model_info::Known;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;

/// The process runs.
pub(super) async fn alive() -> Json<&'static str> {
    Json("I'm alive!")
}

/// Requests can be answered, and what they change can be written. Anyone may ask.
pub(super) async fn ready(State(app): State<App>) -> Response {
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
    caller: Caller,
) -> Result<Json<Value>, ApiError> {
    caller.may(Need::Look)?;
    let known = Known::all(&app, &caller);
    let endpoints: Vec<Value> = known
        .iter()
        .map(|known| json!({ "model": known.model, "model_name": known.name }))
        .collect();
    Ok(Json(json!({
        "healthy_endpoints": endpoints,
        "unhealthy_endpoints": [],
        "healthy_count": endpoints.len(),
        "unhealthy_count": 0,
    })))
}
