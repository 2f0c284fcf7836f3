//! `GET /healthz`, `/readyz`, `/metrics`.

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Caller, Need};
use crate::error::ApiError;

/// The process runs, and its sandbox is this strong.
pub(crate) async fn alive(State(app): State<App>) -> Json<Value> {
    let sandbox = app.settings().sandbox.level();
    Json(json!({ "status": "ok", "sandbox": sandbox }))
}

/// Requests can be answered.
pub(crate) async fn ready(State(app): State<App>) -> Result<Json<Value>, ApiError> {
    app.store().ping().await?;
    Ok(Json(json!({ "status": "ok" })))
}

/// Counts of all tenants together, so not for everyone.
pub(crate) async fn metrics(State(app): State<App>, caller: Caller) -> Result<Response, ApiError> {
    caller.may(Need::Administer)?;
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4")];
    Ok((kind, app.metrics().render()).into_response())
}
