//! Sessions over MCP's "streamable HTTP".
//!
//! Authentication and origin checks happen before: this gets an [`McpPrincipal`]. A session
//! outlives the connection it started on, so everything here runs on the runtime that this
//! was created in, whichever thread serves the connection.

use crate::handler::McpHandler;
use crate::http_sessions::HttpSessions;
use crate::principal::McpPrincipal;
use crate::session::McpSession;
use crate::session_registry::{SessionRegistry, TooManySessions};
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

/// The header with the session id.
const SESSION_HEADER: &str = "mcp-session-id";

/// Interval at which ended sessions are removed.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(60);

/// Time that sessions have to close on shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// Streams do not begin with an event without data, which the protocol recommends since
/// 2025-11-25: clients of older versions, Gemini CLI for one, take it for a broken message
/// and leave. Every message still has an id to go on from.
const NO_EMPTY_EVENT: Option<Duration> = None;

/// The body of a response: whole, or an event stream.
pub type McpBody = BoxBody<Bytes, Infallible>;

/// Limits of sessions over HTTP.
#[derive(Debug, Clone)]
pub struct McpHttpLimits {
    /// Concurrent sessions of one owner.
    pub max_sessions: usize,
    /// Time without a message after which a session ends.
    pub idle_timeout: Duration,
    /// Bytes of one message.
    pub max_message_bytes: usize,
}

impl Default for McpHttpLimits {
    fn default() -> Self {
        McpHttpLimits {
            max_sessions: 100,
            idle_timeout: Duration::from_secs(30 * 60),
            max_message_bytes: 4 << 20,
        }
    }
}

/// All sessions over HTTP.
#[derive(Clone)]
pub struct McpHttp(Arc<McpHttpInner>);

struct McpHttpInner {
    limits: McpHttpLimits,
    sessions: Arc<HttpSessions>,
    registry: Arc<SessionRegistry>,
    stop: CancellationToken,
    runtime: Option<Handle>,
}

impl McpHttp {
    /// No sessions yet. They run on the runtime that this is called in.
    #[must_use]
    pub fn new(limits: McpHttpLimits) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(limits.idle_timeout);
        sessions.session_config.sse_retry = NO_EMPTY_EVENT;
        let shared = Arc::new(McpHttpInner {
            registry: Arc::new(SessionRegistry::new(
                limits.max_sessions,
                limits.idle_timeout,
            )),
            sessions: Arc::new(HttpSessions::new(sessions)),
            limits,
            stop: CancellationToken::new(),
            runtime: Handle::try_current().ok(),
        });
        if let Some(runtime) = &shared.runtime {
            runtime.spawn(remove_ended_sessions(Arc::downgrade(&shared)));
        }
        McpHttp(shared)
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &McpHttpLimits {
        &self.0.limits
    }

    /// Handles a request.
    pub async fn handle(
        &self,
        principal: McpPrincipal,
        request: Request<Bytes>,
    ) -> Response<McpBody> {
        let Some(runtime) = self
            .0
            .runtime
            .clone()
            .or_else(|| Handle::try_current().ok())
        else {
            let message = "the server is not running";
            return error_response(StatusCode::SERVICE_UNAVAILABLE, "not-running", message);
        };
        let shared = Arc::clone(&self.0);
        // A client that disconnects drops this, which aborts the request.
        let task = AbortOnDropHandle::new(runtime.spawn(shared.respond(principal, request)));
        task.await.unwrap_or_else(|_| {
            let message = "the request was stopped: the server is shutting down";
            error_response(StatusCode::SERVICE_UNAVAILABLE, "stopping", message)
        })
    }

    /// Ends all streams, so that connections can close, and all sessions with what runs in
    /// them.
    pub async fn close(&self) {
        self.0.stop.cancel();
        let open = self.0.sessions.local().sessions.read().await;
        let ids: Vec<_> = open.keys().cloned().collect();
        drop(open);
        for id in ids {
            // It may have ended already.
            let _ = self.0.sessions.close_session(&id).await;
        }
        let sessions = self.0.registry.take_all();
        let closing = sessions.iter().map(|session| session.close());
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, join_all(closing))
            .await
            .is_err()
        {
            tracing::warn!("MCP sessions did not close in time; their files are left to expire");
        }
    }
}

impl McpHttpInner {
    async fn respond(
        self: Arc<Self>,
        principal: McpPrincipal,
        request: Request<Bytes>,
    ) -> Response<McpBody> {
        let named = request.headers().get(SESSION_HEADER);
        let named = named.map(|id| id.to_str().unwrap_or_default().to_owned());
        // Other methods are refused below, whichever session they name.
        let known = [Method::GET, Method::POST, Method::DELETE].contains(request.method());
        if let Some(id) = &named
            && known
            && !self.registry.is_owned_by(id, &principal.session_owner())
        {
            let message = "session not found; start one with `initialize`";
            return error_response(StatusCode::NOT_FOUND, "session-not-found", message);
        }
        let post = request.method() == Method::POST;
        let session = match (named, post) {
            (None, true) if is_initialize(request.body()) => {
                self.registry.create(&principal).map(Some)
            }
            (None, true) => self.registry.stateless(&principal).map(Some),
            // The session exists already.
            _ => Ok(None),
        };
        match session {
            Ok(session) => self.serve(principal, session, request).await,
            Err(full) => too_many_sessions(full),
        }
    }

    async fn serve(
        &self,
        principal: McpPrincipal,
        session: Option<Arc<McpSession>>,
        request: Request<Bytes>,
    ) -> Response<McpBody> {
        let handler = move || match &session {
            Some(session) => Ok(McpHandler(Arc::clone(session))),
            None => Err(std::io::Error::other("this request has a session")),
        };
        // Hosts and origins were checked before.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_sse_retry(NO_EMPTY_EVENT)
            .with_max_request_body_bytes(self.limits.max_message_bytes)
            .with_cancellation_token(self.stop.clone());
        let service = StreamableHttpService::new(handler, Arc::clone(&self.sessions), config);
        let ends = request.method() == Method::DELETE;
        let mut response = to_json_error(service.handle(request.map(Whole::new)).await).await;
        // Some clients treat "accepted" as a failure to close the session.
        if ends && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        let began = response.headers().get(SESSION_HEADER);
        if let Some(id) = began.and_then(|id| id.to_str().ok()) {
            self.registry.set_owner(id, principal.session_owner());
        }
        response
    }
}

/// Turns a plain-text error into a JSON-RPC error.
async fn to_json_error(response: Response<McpBody>) -> Response<McpBody> {
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
    let error = error_response(status, &code, &String::from_utf8_lossy(&words));
    parts.headers.extend(error.headers().clone());
    Response::from_parts(parts, error.into_body())
}

/// Whether a message starts a session.
fn is_initialize(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Peek {
        method: String,
    }
    let peek: Option<Peek> = serde_json::from_slice(message).ok();
    peek.is_some_and(|peek| peek.method == "initialize")
}

async fn remove_ended_sessions(shared: Weak<McpHttpInner>) {
    loop {
        tokio::time::sleep(CLEANUP_INTERVAL).await;
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let open = shared.sessions.local().sessions.read().await;
        shared.registry.remove_ended(|id| open.contains_key(id));
    }
}

fn too_many_sessions(full: TooManySessions) -> Response<McpBody> {
    let message = format!(
        "the limit of {} open sessions is reached; close one (DELETE with its Mcp-Session-Id)",
        full.max
    );
    error_response(StatusCode::TOO_MANY_REQUESTS, "too-many-sessions", &message)
}

/// An error response in JSON-RPC, although no request was read, so that clients show the
/// message.
#[must_use]
pub fn error_response(status: StatusCode, code: &str, message: &str) -> Response<McpBody> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_permit::RequestPermit;
    use crate::skill_provider::{SkillProvider, SkillProviderError, SkillSet, default_options};
    use futures_util::FutureExt;
    use futures_util::future::{self, BoxFuture};
    use http::header::{ACCEPT, HOST};
    use prowess_toolbox::{ToolboxOptions, Workspace};
    use serde_json::Value;

    /// Skills that take forever to be read.
    struct EndlessProvider;

    impl SkillProvider for EndlessProvider {
        fn skills(&self) -> BoxFuture<'_, Result<SkillSet, SkillProviderError>> {
            future::pending().boxed()
        }

        fn workspace<'a>(&'a self, _: &'a SkillSet) -> BoxFuture<'a, Option<Workspace>> {
            future::ready(None).boxed()
        }

        fn options(&self) -> ToolboxOptions {
            default_options()
        }
    }

    fn post(session: Option<&HeaderValue>, message: &Value) -> Request<Bytes> {
        let request = Request::post("/mcp")
            .header(HOST, "127.0.0.1")
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        let request = match session {
            Some(session) => request.header(SESSION_HEADER, session),
            None => request,
        };
        request.body(Bytes::from(message.to_string())).unwrap()
    }

    #[tokio::test]
    async fn a_request_has_its_permit_when_its_client_has_left() {
        let http = McpHttp::new(McpHttpLimits::default());
        let principal = McpPrincipal {
            owner: "one".to_owned(),
            key: "key".to_owned(),
            can_run_code: false,
            provider: Arc::new(EndlessProvider),
        };
        let client = json!({"name": "test", "version": "1"});
        let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}});
        let started = http.handle(principal.clone(), post(None, &initialize));
        let started = started.await;
        assert_eq!(started.status(), StatusCode::OK);
        let session = started.headers().get(SESSION_HEADER).unwrap();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let accepted = http.handle(principal.clone(), post(Some(session), &initialized));
        assert_eq!(accepted.await.status(), StatusCode::ACCEPTED);

        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        let mut request = post(Some(session), &list);
        let held = Arc::new(());
        let permit = RequestPermit::new(Arc::clone(&held));
        request.extensions_mut().insert(permit);
        let response = http.handle(principal, request).await;
        assert_eq!(response.status(), StatusCode::OK);
        drop(response);
        assert_eq!(Arc::strong_count(&held), 2, "the request goes on");
    }
}
