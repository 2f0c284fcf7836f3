//! Below `/v1/responses`: what was kept of answers.
//!
//! Only answers that are kept here are found here. Those of an upstream that keeps its
//! own are found at the upstream.

mod cancel;
mod delete;
mod get;
mod input_items;
pub(super) mod replay;

use axum::Router;
use axum::routing;

use crate::app::App;

/// The routes, at the places that `at` gives for their paths.
pub(super) fn routes(at: impl Fn(&str) -> String) -> Router<App> {
    Router::new()
        .route(
            &at("/responses/{id}"),
            routing::get(get::get).delete(delete::delete),
        )
        .route(&at("/responses/{id}/cancel"), routing::post(cancel::cancel))
        .route(
            &at("/responses/{id}/input_items"),
            routing::get(input_items::list),
        )
}
