//! Endpoints of LiteLLM's proxy besides the vendors' APIs: health, and model information. In
//! its formats, at its paths.

mod health;
mod model_info;

use axum::Router;
use axum::routing::get;

use crate::app::App;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/health", get(health::models))
        .route("/health/liveliness", get(health::alive))
        .route("/health/liveness", get(health::alive))
        .route("/health/readiness", get(health::ready))
        .route("/model/info", get(model_info::list))
        .route("/v1/model/info", get(model_info::list))
}
