//! The model gateway: three dialects in, every provider out.
//!
//! One file per verb; each only says what its client speaks and wants. All of them
//! take the same road: [`forward`] reads the request as far as it must to find its
//! model; [`run`] takes what needs a run of the engine's, and for everything else
//! `prowess-provider` calls the model. [`answer`] gives back what came: as it came
//! ([`passing`], [`scanned`]) or in the client's dialect ([`written`]). [`stored`] keeps
//! what Responses clients go on from, [`named`] whose files an upstream keeps. What the
//! dialects mean is for `prowess-wire`; nothing here looks into a message.

mod answer;
mod body;
mod chat;
mod count_tokens;
mod failure;
mod forward;
mod messages;
mod named;
mod passing;
mod responses;
mod run;
mod scanned;
mod stored;
mod written;

use axum::Router;
use axum::routing::post;

pub(super) use body::read as read_body;
pub(super) use failure::Failure;
pub(super) use forward::on_behalf;

use crate::app::App;

/// The routes below a mount. They bear their whole paths: below a nested router every
/// request would get a new address, which costs more than finding its route.
pub(super) fn routes(mount: &str) -> Router<App> {
    let at = |path: &str| format!("{mount}{path}");
    Router::new()
        .route(&at("/messages"), post(messages::create))
        .route(&at("/messages/count_tokens"), post(count_tokens::count))
        .route(&at("/chat/completions"), post(chat::create))
        .merge(responses::routes(at))
}
