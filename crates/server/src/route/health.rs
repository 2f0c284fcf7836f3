//! `GET /healthz`, `/readyz`, `/metrics`.

mod readiness;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::app::App;
use crate::auth::{Permission, Principal};
use crate::error::HttpError;
use crate::openapi::operation::{Operation, OperationResponse};
use crate::route::metric_state;
use crate::route::table::row::{PathNames, RouteRow, on};

const NAMES: PathNames = PathNames::Nothing("the state of the process");

pub(super) static ROUTES: &[RouteRow] = &[
    RouteRow::plain(
        "/healthz",
        |method, _| on(method, alive),
        Operation::new("Whether the process runs", OperationResponse::Json),
        NAMES,
    ),
    RouteRow::plain(
        "/readyz",
        |method, _| on(method, readiness::ready),
        Operation::new(
            "Whether the server can serve requests",
            OperationResponse::Json,
        ),
        NAMES,
    ),
    RouteRow::plain(
        "/metrics",
        |method, _| on(method, metrics),
        Operation::new("Prometheus metrics", OperationResponse::Bytes("text/plain")),
        NAMES,
    ),
];

/// The process runs; reports the sandbox level.
async fn alive(State(app): State<App>) -> Json<Value> {
    let sandbox = app.settings().sandbox.level();
    Json(json!({ "status": "ok", "sandbox": sandbox }))
}

/// Covers all tenants: costs, and names of skills and tools of each of them.
async fn metrics(State(app): State<App>, principal: Principal) -> Result<Response, HttpError> {
    principal.require(Permission::ReadMetrics)?;
    Box::pin(metric_state::record(&app)).await;
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4")];
    Ok((kind, app.metrics().render()).into_response())
}
