//! The model gateway: three dialects in, every provider out.
//!
//! One file per verb; each only says what its client speaks and wants. All of them
//! take the same road: [`forward`] reads the request as far as it must to find its
//! model, [`skills`] sees to it that no skill it names is lost, `prowess-provider`
//! calls the model, and [`answer`] gives back what came. What the dialects mean is for
//! `prowess-wire`; nothing here looks into a message.

mod answer;
mod body;
mod chat;
mod count_tokens;
mod failure;
mod forward;
mod messages;
mod responses;
mod skills;
mod stream;

use axum::Router;
use axum::routing::post;

use crate::app::App;

/// The routes below a mount. They bear their whole paths: below a nested router every
/// request would get a new address, which costs more than finding its route.
pub(super) fn routes(mount: &str) -> Router<App> {
    let at = |path: &str| format!("{mount}{path}");
    Router::new()
        .route(&at("/messages"), post(messages::create))
        .route(&at("/messages/count_tokens"), post(count_tokens::count))
        .route(&at("/chat/completions"), post(chat::create))
        .route(&at("/responses"), post(responses::create))
}
