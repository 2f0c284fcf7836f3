//! `GET /readyz`: whether requests can be served, and in a cluster the state of each dependency.
//!
//! A server is not ready while it stops, and while its store cannot be written. Without the bus
//! or without workers it is: calls to models need neither, and a load balancer that took away all
//! gateways would end those too.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::app::App;
use crate::cluster::link::ClusterLink;
use crate::error::HttpError;

/// Public, so the response names only the part that failed.
pub(super) async fn ready(State(app): State<App>) -> Result<Json<Value>, HttpError> {
    if app.is_draining() {
        let message = "not ready: the server is stopping";
        let error = HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "draining", message);
        return Err(error.with_detail("part", "server"));
    }
    let Err(unready) = app.store().check_ready().await else {
        return Ok(Json(match app.cluster() {
            None => json!({ "status": "ok" }),
            Some(link) => dependencies(link),
        }));
    };
    let (part, code) = (unready.part, unready.code);
    tracing::warn!(part, code, cause = unready.cause, "not ready");
    let why = if unready.full {
        "is full"
    } else {
        "is not writable"
    };
    let message = format!("not ready: the {part} {why}");
    let error = HttpError::new(StatusCode::SERVICE_UNAVAILABLE, code, message);
    Err(error.with_detail("part", part))
}

/// The dependencies of a gateway whose store is ready.
fn dependencies(link: &ClusterLink) -> Value {
    let bus = match link.is_connected() {
        true => "ok",
        false => "disconnected",
    };
    let workers = link.workers().map(|workers| {
        let mut usable = workers.iter();
        match usable.any(|worker| worker.is_alive && !worker.is_draining) {
            true => "ok",
            false => "none",
        }
    });
    let is_whole = bus == "ok" && workers.is_none_or(|workers| workers == "ok");
    json!({
        "status": if is_whole { "ok" } else { "degraded" },
        "parts": {
            "database": "ok",
            "blob_storage": "ok",
            "bus": bus,
            "workers": workers,
        },
    })
}
