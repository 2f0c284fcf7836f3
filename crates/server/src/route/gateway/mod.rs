//! The model gateway: four dialects in, every provider out.
//!
//! [`wanted`] says what is asked for at which path. All requests to models then take
//! the same road: [`forward`] reads one as far as it must to find its
//! model; [`run`] takes what needs a run of the engine's, and for everything else
//! `prowess-provider` calls the model. [`answer`](mod@answer) gives back what came: as it
//! came ([`passing`], [`scanned`]) or in the client's dialect ([`written`]). [`stored`]
//! keeps what Responses clients go on from, and [`responses`] shows it; [`named`] notes
//! whose files an upstream keeps. What the dialects mean is for `prowess-wire`; nothing
//! here looks into a message.

mod body;
mod chats;
mod compact;
mod conversation;
mod conversations;
mod error;
mod file_tracking;
mod forward;
mod list_query;
mod reply;
mod responses;
mod run;
mod socket;
mod sse_passthrough;
mod sse_translate;
mod transcript;
mod unsupported_fields;
mod usage_scan;

use axum::Router;
use axum::http::Method;
use axum::routing;
use prowess_provider::ModelTask;
use prowess_wire::ClientDialect;

pub(crate) use body::read_body;
pub(super) use error::GatewayError;
pub(super) use forward::client_credentials;
pub(crate) use forward::forward;
pub(crate) use socket::{OpenSockets, SocketMemories};

use super::{MOUNTS, ROOT};
use crate::app::App;
use crate::google::{ModelPath, parse_model_path};

/// What a client speaks and wants.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    client: ClientDialect,
    task: ModelTask,
    /// What the path says where it names the model.
    path: Option<ModelPath>,
}

impl Endpoint {
    const fn new(client: ClientDialect, task: ModelTask) -> Endpoint {
        Endpoint {
            client,
            task,
            path: None,
        }
    }

    /// The pattern of its path, where that is not the path itself.
    pub(crate) fn route(&self) -> Option<&'static str> {
        self.path.as_ref().map(|path| path.method.route())
    }
}

/// Where models are asked, below each mount.
static ENDPOINTS: [(&str, Endpoint); 6] = [
    (
        "/messages",
        Endpoint::new(ClientDialect::Messages, ModelTask::Generate),
    ),
    (
        "/messages/count_tokens",
        Endpoint::new(ClientDialect::Messages, ModelTask::CountTokens),
    ),
    (
        "/chat/completions",
        Endpoint::new(ClientDialect::Chat, ModelTask::Generate),
    ),
    (
        "/responses",
        Endpoint::new(ClientDialect::Responses, ModelTask::Generate),
    ),
    (
        "/responses/input_tokens",
        Endpoint::new(ClientDialect::Responses, ModelTask::CountTokens),
    ),
    (
        "/responses/compact",
        Endpoint::new(ClientDialect::Responses, ModelTask::Compact),
    ),
];

/// Where a GET means something else: a list of what is kept, or a WebSocket.
const GET_PATHS: [&str; 2] = ["/chat/completions", "/responses"];

/// The methods at a path where models are asked, as a refusal of another one names them.
fn allowed_methods(path: &str) -> &'static str {
    match path.ends_with("/chat/completions") {
        true => "GET,HEAD,POST",
        false => "POST",
    }
}

/// What is asked of a model at a path, if anything is.
pub(crate) fn find_endpoint(method: &Method, path: &str) -> Option<Endpoint> {
    let mounts = MOUNTS.iter().copied().chain([ROOT]);
    let below = mounts.filter_map(|mount| path.strip_prefix(mount));
    let mut found = below.filter_map(|below| ENDPOINTS.iter().find(|(place, _)| *place == below));
    match found.next() {
        // Whoever gets asks no model.
        Some((place, _)) if *method == Method::GET && GET_PATHS.contains(place) => None,
        Some((_, endpoint)) => Some(endpoint.clone()),
        None => parse_model_path(path).map(|path| Endpoint {
            client: ClientDialect::Gemini,
            task: path.method.task(),
            path: Some(path),
        }),
    }
}

/// The routes below a mount of what is kept of answers.
pub(super) fn routes(mount: &str) -> Router<App> {
    let at = |path: &str| format!("{mount}{path}");
    responses::routes(at)
        .route(&at("/responses"), routing::get(socket::connect))
        .merge(conversations::routes(at))
        .merge(chats::routes(at))
}
