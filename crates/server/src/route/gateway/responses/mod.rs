//! `/v1/responses`: stored responses.
//!
//! Only responses stored here are found. An upstream that stores its own responses serves them
//! itself.

mod cancel;
mod delete;
mod get;
mod input_items;
pub(super) mod replay;

use axum::Router;
use axum::routing;

use crate::app::App;

/// The routes, at the paths that `at` returns.
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
