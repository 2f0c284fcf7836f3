//! Sessions over HTTP: MCP's "streamable HTTP", for whoever was let in.
//!
//! Who may come in, and from where, is decided before: this is given a [`Guest`]. A session
//! outlives the connection it began on, so everything here runs on the runtime that this was
//! made in, whichever thread attends the connection.

use crate::desk::Desk;
use crate::face::Face;
use crate::seats::{Full, Holder, Seats};
use crate::supply::Supply;
use bytes::Bytes;
use futures_util::future::join_all;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full as Whole};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::Deserialize;
use serde_json::json;
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

/// How a session is named in requests.
const SESSION: &str = "mcp-session-id";

/// How often ended sessions are forgotten.
const TIDY: Duration = Duration::from_secs(60);

/// How long sessions may take to end when the server does.
const LEAVE: Duration = Duration::from_secs(10);

/// Streams do not begin with an event without data, which the protocol recommends since
/// 2025-11-25: clients of older versions, Gemini CLI for one, take it for a broken message
/// and leave. Every message still has an id to go on from.
const NO_EMPTY_EVENT: Option<Duration> = None;

/// The body of an answer: whole, or events as they come.
pub type Body = BoxBody<Bytes, Infallible>;

/// Bounds on sessions over HTTP.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Sessions of one owner at once.
    pub sessions: usize,
    /// After how long without a message a session ends.
    pub idle: Duration,
    /// Bytes of one message.
    pub message: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            sessions: 100,
            idle: Duration::from_secs(30 * 60),
            message: 4 << 20,
        }
    }
}

/// Whoever was let in.
#[derive(Clone)]
pub struct Guest {
    /// Whose skills and sessions these are.
    pub owner: String,
    /// Which of the owner's keys was shown. A session is for the key it began with: another
    /// may be allowed less, or more.
    pub key: String,
    /// What a session of this guest is made of.
    pub supply: Arc<dyn Supply>,
}

impl Guest {
    pub(crate) fn holder(&self) -> Holder {
        (self.owner.clone(), self.key.clone())
    }
}

/// All sessions over HTTP.
#[derive(Clone)]
pub struct Http(Arc<Shared>);

struct Shared {
    limits: Limits,
    sessions: Arc<LocalSessionManager>,
    seats: Arc<Seats>,
    stop: CancellationToken,
    home: Option<Handle>,
}

impl Http {
    /// No sessions yet. They live on the runtime that this is called in.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(limits.idle);
        sessions.session_config.sse_retry = NO_EMPTY_EVENT;
        let shared = Arc::new(Shared {
            seats: Arc::new(Seats::new(limits.sessions, limits.idle)),
            sessions: Arc::new(sessions),
            limits,
            stop: CancellationToken::new(),
            home: Handle::try_current().ok(),
        });
        if let Some(home) = &shared.home {
            home.spawn(tidy(Arc::downgrade(&shared)));
        }
        Http(shared)
    }

    /// The bounds.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Answers a request.
    pub async fn handle(&self, guest: Guest, request: Request<Bytes>) -> Response<Body> {
        let Some(home) = self.0.home.clone().or_else(|| Handle::try_current().ok()) else {
            let message = "the server is not running";
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "not-running", message);
        };
        let shared = Arc::clone(&self.0);
        // A client that goes away drops this, and with it what was asked for.
        let work = AbortOnDropHandle::new(home.spawn(shared.answer(guest, request)));
        work.await.unwrap_or_else(|_| {
            let message = "the request was ended: the server stops";
            refusal(StatusCode::SERVICE_UNAVAILABLE, "stopping", message)
        })
    }

    /// Ends all streams, so that they hold up nobody who waits for connections to end, and
    /// all sessions with what runs in them.
    pub async fn close(&self) {
        self.0.stop.cancel();
        let ids: Vec<_> = self
            .0
            .sessions
            .sessions
            .read()
            .await
            .keys()
            .cloned()
            .collect();
        for id in ids {
            // It may have ended by itself.
            let _ = self.0.sessions.close_session(&id).await;
        }
        let desks = self.0.seats.clear();
        let closing = desks.iter().map(|desk| desk.close());
        if tokio::time::timeout(LEAVE, join_all(closing))
            .await
            .is_err()
        {
            tracing::warn!("sessions of MCP did not end in time; their files are left to expire");
        }
    }
}

impl Shared {
    async fn answer(self: Arc<Self>, guest: Guest, request: Request<Bytes>) -> Response<Body> {
        let named = request.headers().get(SESSION);
        let named = named.map(|id| id.to_str().unwrap_or_default().to_owned());
        // Others are refused below, whatever session they name.
        let known = [Method::GET, Method::POST, Method::DELETE].contains(request.method());
        if let Some(id) = &named
            && known
            && !self.seats.is_of(id, &guest.holder())
        {
            let message = "there is no such session; begin one with `initialize`";
            return refusal(StatusCode::NOT_FOUND, "session-not-found", message);
        }
        let post = request.method() == Method::POST;
        let desk = match (named, post) {
            (None, true) if begins(request.body()) => self.seats.sit(&guest).map(Some),
            (None, true) => self.seats.visitor(&guest).map(Some),
            // The session has its own already.
            _ => Ok(None),
        };
        match desk {
            Ok(desk) => self.serve(guest, desk, request).await,
            Err(full) => too_many(full),
        }
    }

    async fn serve(
        &self,
        guest: Guest,
        desk: Option<Arc<Desk>>,
        request: Request<Bytes>,
    ) -> Response<Body> {
        let face = move || match &desk {
            Some(desk) => Ok(Face(Arc::clone(desk))),
            None => Err(std::io::Error::other("this request has a session")),
        };
        // Hosts and origins were looked at before.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_sse_retry(NO_EMPTY_EVENT)
            .with_max_request_body_bytes(self.limits.message)
            .with_cancellation_token(self.stop.clone());
        let service = StreamableHttpService::new(face, Arc::clone(&self.sessions), config);
        let ends = request.method() == Method::DELETE;
        let mut response = in_json(service.handle(request.map(Whole::new)).await).await;
        // Some clients take "accepted" for a failure to end.
        if ends && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        let began = response.headers().get(SESSION);
        if let Some(id) = began.and_then(|id| id.to_str().ok()) {
            self.seats.bind(id, guest.holder());
        }
        response
    }
}

/// What is refused in plain words is told as every other refusal is.
async fn in_json(response: Response<Body>) -> Response<Body> {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    let plain = kind.is_none_or(|kind| kind.as_bytes().starts_with(b"text/plain"));
    if !plain || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(words) = body.collect().await;
    let words = words.to_bytes();
    let code = status.canonical_reason().unwrap_or("refused");
    let code = code.to_ascii_lowercase().replace(' ', "-");
    let told = refusal(status, &code, &String::from_utf8_lossy(&words));
    parts.headers.extend(told.headers().clone());
    Response::from_parts(parts, told.into_body())
}

/// Whether a message begins a session.
fn begins(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Peek {
        method: String,
    }
    let peek: Option<Peek> = serde_json::from_slice(message).ok();
    peek.is_some_and(|peek| peek.method == "initialize")
}

async fn tidy(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(TIDY).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let open = shared.sessions.sessions.read().await;
        shared.seats.tidy(|id| open.contains_key(id));
    }
}

fn too_many(full: Full) -> Response<Body> {
    let message = format!(
        "{} sessions are open, which is the most; end one (DELETE with its Mcp-Session-Id)",
        full.most
    );
    refusal(StatusCode::TOO_MANY_REQUESTS, "too-many-sessions", &message)
}

/// An answer to whoever is not let in or cannot be served: JSON-RPC, though no request of
/// theirs was read, so that clients show the message.
#[must_use]
pub fn refusal(status: StatusCode, code: &str, message: &str) -> Response<Body> {
    let error = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": -32000, "message": message, "data": { "code": code } },
    });
    let body = Whole::new(Bytes::from(error.to_string()));
    let mut response = Response::new(body.boxed());
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
