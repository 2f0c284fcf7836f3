//! The model gateway: four client dialects, every provider.
//!
//! [`find_endpoint`] maps paths to endpoints. All calls to models are handled by [`forward`],
//! which parses a request only as far as needed to find its model; [`run`] handles those that
//! need a run of the engine, and for all others `prowess-provider` calls the model. [`reply`]
//! sends the response: unchanged ([`sse_passthrough`], [`usage_scan`]) or translated
//! ([`sse_translate`]). [`conversation`] stores what Responses clients continue from, and
//! [`responses`] serves it; [`file_tracking`] records the tenant of files that an upstream
//! stores. The dialects are defined in `prowess-wire`; nothing here parses a message.

mod body;
mod chats;
mod compact;
mod conversation;
mod conversations;
mod error;
mod file_tracking;
mod forward;
mod list_query;
mod model_text;
mod observed_body;
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

/// The client dialect and task of a path.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    client: ClientDialect,
    task: ModelTask,
    /// The model and method, where the path contains them.
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

    /// The route pattern, where it is not the path itself.
    pub(crate) fn route(&self) -> Option<&'static str> {
        self.path.as_ref().map(|path| path.method.route())
    }
}

/// The paths of calls to models, below each mount.
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

/// Paths where GET is another route: a list of stored objects, or a WebSocket.
const GET_PATHS: [&str; 2] = ["/chat/completions", "/responses"];

/// The allowed methods of a path, for a 405 response.
fn allowed_methods(path: &str) -> &'static str {
    if path.ends_with("/chat/completions") {
        "GET,HEAD,POST"
    } else {
        "POST"
    }
}

/// The endpoint of a path, if it is a call to a model.
pub(crate) fn find_endpoint(method: &Method, path: &str) -> Option<Endpoint> {
    let mounts = MOUNTS.iter().copied().chain([ROOT]);
    let below = mounts.filter_map(|mount| path.strip_prefix(mount));
    let mut found = below.filter_map(|below| ENDPOINTS.iter().find(|(place, _)| *place == below));
    match found.next() {
        // GET does not call a model.
        Some((place, _)) if *method == Method::GET && GET_PATHS.contains(place) => None,
        Some((_, endpoint)) => Some(endpoint.clone()),
        None => parse_model_path(path).map(|path| Endpoint {
            client: ClientDialect::Gemini,
            task: path.method.task(),
            path: Some(path),
        }),
    }
}

/// The routes of stored objects below a mount.
pub(super) fn routes(mount: &str) -> Router<App> {
    let at = |path: &str| format!("{mount}{path}");
    responses::routes(at)
        .route(&at("/responses"), routing::get(socket::connect))
        .merge(conversations::routes(at))
        .merge(chats::routes(at))
}
