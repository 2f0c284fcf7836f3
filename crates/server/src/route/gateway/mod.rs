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

mod answer;
mod body;
mod chats;
mod compact;
mod conversations;
mod dropped;
mod failure;
mod forward;
mod listing;
mod named;
mod passing;
mod responses;
mod run;
mod scanned;
mod socket;
mod stored;
mod transcript;
mod written;

use axum::Router;
use axum::http::Method;
use axum::routing;
use prowess_provider::Task;
use prowess_wire::Client;

pub(crate) use body::read as read_body;
pub(super) use failure::Failure;
pub(crate) use forward::forward;
pub(super) use forward::on_behalf;
pub(crate) use socket::{Memories as SocketMemories, OpenSockets};

use super::{MOUNTS, ROOT};
use crate::app::App;
use crate::google::{ModelPath, model_path};

/// What a client speaks and wants.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    client: Client,
    task: Task,
    /// What the path says where it names the model.
    path: Option<ModelPath>,
}

impl Wanted {
    const fn new(client: Client, task: Task) -> Wanted {
        Wanted {
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
static ASKED: [(&str, Wanted); 6] = [
    ("/messages", Wanted::new(Client::Messages, Task::Generate)),
    (
        "/messages/count_tokens",
        Wanted::new(Client::Messages, Task::CountTokens),
    ),
    (
        "/chat/completions",
        Wanted::new(Client::Chat, Task::Generate),
    ),
    ("/responses", Wanted::new(Client::Responses, Task::Generate)),
    (
        "/responses/input_tokens",
        Wanted::new(Client::Responses, Task::CountTokens),
    ),
    (
        "/responses/compact",
        Wanted::new(Client::Responses, Task::Compact),
    ),
];

/// Where a GET means something else: a list of what is kept, or a WebSocket.
const ALSO_GET: [&str; 2] = ["/chat/completions", "/responses"];

/// The methods at a path where models are asked, as a refusal of another one names them.
fn allowed_methods(path: &str) -> &'static str {
    match path.ends_with("/chat/completions") {
        true => "GET,HEAD,POST",
        false => "POST",
    }
}

/// What is asked of a model at a path, if anything is.
pub(crate) fn wanted(method: &Method, path: &str) -> Option<Wanted> {
    let mounts = MOUNTS.iter().copied().chain([ROOT]);
    let below = mounts.filter_map(|mount| path.strip_prefix(mount));
    let mut found = below.filter_map(|below| ASKED.iter().find(|(place, _)| *place == below));
    match found.next() {
        // Whoever gets asks no model.
        Some((place, _)) if *method == Method::GET && ALSO_GET.contains(place) => None,
        Some((_, wanted)) => Some(wanted.clone()),
        None => model_path(path).map(|path| Wanted {
            client: Client::Gemini,
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
