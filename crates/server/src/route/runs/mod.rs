//! `/v1/runs`: records of requests with skills. One file per verb.

mod get;
mod list;

use axum::Router;
use axum::routing::get;

use crate::app::App;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/runs", get(list::list))
        .route("/runs/{run}", get(get::get))
}
