//! Below `/v1/responses`: what was kept of answers.
//!
//! Only answers that are kept here are found here. Those of an upstream that keeps its
//! own are found at the upstream.

mod delete;
mod get;
mod input_items;

use axum::Router;
use axum::routing;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::Query;

/// The routes, at the places that `at` gives for their paths.
pub(super) fn routes(at: impl Fn(&str) -> String) -> Router<App> {
    Router::new()
        .route(
            &at("/responses/{id}"),
            routing::get(get::get).delete(delete::delete),
        )
        .route(
            &at("/responses/{id}/input_items"),
            routing::get(input_items::list),
        )
}

/// Refuses what would change an answer and is not possible here.
fn refuse_stream(query: &Query) -> Result<(), ApiError> {
    match query.get("stream") {
        Some("true") => Err(ApiError::bad_request(
            "stream-of-kept-response",
            "stream: an answer that was kept is given whole; leave it out",
        )
        .with("param", "stream")),
        _ => Ok(()),
    }
}
