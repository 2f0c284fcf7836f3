//! `GET /v1/responses` as a WebSocket: a client sends `response.create` messages and receives
//! the events of each response, one response after the other.
//!
//! Each message is a request like any other: key, limits and body are checked as over HTTP,
//! and it is handled the same way. The connection counts as an active request of its tenant
//! from its first byte to its last; between two responses it may be evicted.
//!
//! | module | owns |
//! |---|---|
//! | `open_sockets` | limits on the number of sockets |
//! | `connection` | reading and writing, within time limits |
//! | `incoming` | bytes of messages that are not complete |
//! | `turn` | one message and its response |
//! | `message` | messages of a client, as bodies of requests |
//! | `memory` | the last response, when it is not stored |
//! | `events` | events of a response, sent to the client |
//! | `error_events` | events that say what is wrong |

mod connection;
mod error_events;
mod events;
mod incoming;
pub(crate) mod memory;
mod message;
pub(crate) mod open_sockets;
mod turn;

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use axum::Extension;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{OriginalUri, State};
use axum::http::header::{ALLOW, CONNECTION, CONTENT_TYPE, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use prowess_store::TenantId;
use tokio::time::{Instant, timeout, timeout_at};

use self::connection::{ClientGone, Received, SocketConnection};
use self::incoming::IncomingBytes;
use self::memory::SocketMemory;
use self::open_sockets::OpenSocket;
use crate::app::App;
use crate::auth::{LostAccess, Permission, Principal};
use crate::bodies::Gate;
use crate::connections::{ActiveRequest, CloseMode, Takeover, current};
use crate::error::HttpError;
use crate::openapi::operation::{Operation, OperationResponse};
use crate::route::table::row::{PathNames, RouteMethod, RouteRow, on};
use crate::route::unmatched::method_not_allowed;

pub(in crate::route) static ROUTES: &[RouteRow] = &[RouteRow::openai(
    RouteMethod::Get,
    "/responses",
    |method, _| on(method, connect),
    Operation::new(
        "Generate responses over a WebSocket",
        OperationResponse::WebSocket,
    ),
    PathNames::Nothing("messages name objects, as bodies of requests do"),
)];

/// How long a connection may be without a message.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// The same for one that had a large message: its bytes are counted for its tenant until the
/// connection ends.
const LARGE_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of a message that is not large. More than a connection can continue from without a stored
/// response, so that little is lost.
const MAX_IDLE_BYTES: usize = 8 << 20;
/// How long a connection may last.
const MAX_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// How long one response may take; it may outlast the connection's lifetime.
const MAX_TURN_DURATION: Duration = Duration::from_secs(60 * 60);
/// Bytes to be written: one event, and answers to pings.
const MAX_WRITE_BUFFER_BYTES: usize = 2 * events::MAX_EVENT_BYTES;

/// Upgrades a connection.
async fn connect(
    State(app): State<App>,
    principal: Principal,
    method: Method,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    takeover: Option<Extension<Takeover>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, HttpError> {
    principal.require(Permission::UseModels)?;
    if !headers.contains_key(UPGRADE) {
        let refusal = method_not_allowed(method, uri).into_response();
        return Ok(([(ALLOW, "POST")], refusal).into_response());
    }
    let upgrade = upgrade.map_err(|rejection| {
        let message = format!("WebSocket upgrade failed: {}", rejection.body_text());
        HttpError::new(rejection.status(), "websocket-refused", message)
    })?;
    let limit = app.settings().request_bytes;
    let has_key = principal.key().is_some();
    let lost = principal.lost_access(&app, Permission::UseModels);
    let open = app.open_sockets().open(&principal.tenant, has_key)?;
    let mut active = current::take();
    if let Some(active) = &mut active {
        active.unprotect();
    }
    let handler = SocketHandler {
        memory: app.socket_memories().for_tenant(&principal.tenant),
        tenant: principal.tenant,
        app,
        headers: request_headers(headers),
        takeover: takeover.map(|Extension(takeover)| takeover),
        active,
        _open: open,
    };
    let upgrade = upgrade
        .max_message_size(limit)
        .max_frame_size(limit)
        .read_buffer_size(incoming::READ_BYTES)
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES);
    Ok(upgrade.on_upgrade(move |socket| handler.serve(socket, lost)))
}

/// The headers of each request of the connection.
fn request_headers(mut headers: HeaderMap) -> HeaderMap {
    let socket_headers: Vec<_> = headers
        .keys()
        .filter(|name| name.as_str().starts_with("sec-websocket-"))
        .cloned()
        .collect();
    for name in socket_headers.into_iter().chain([CONNECTION, UPGRADE]) {
        headers.remove(name);
    }
    let json = HeaderValue::from_static("application/json");
    headers.insert(CONTENT_TYPE, json);
    headers
}

/// Serves one connection.
struct SocketHandler {
    app: App,
    tenant: TenantId,
    headers: HeaderMap,
    memory: SocketMemory,
    takeover: Option<Takeover>,
    /// Counts the connection, and protects it from eviction during a turn.
    active: Option<ActiveRequest>,
    _open: OpenSocket,
}

/// Why a connection ends.
enum SocketEnd {
    /// The client is gone, or does not read.
    Gone,
    /// With a code and a reason.
    Closed(u16, &'static str),
    /// The client may not send messages any more, or the one that it is sending.
    Refused(HttpError),
}

impl SocketHandler {
    async fn serve(mut self, socket: WebSocket, mut lost: LostAccess) {
        let takeover = self.takeover.clone();
        let gate = takeover.as_ref().map(|takeover| takeover.gate.clone());
        let gate = gate.unwrap_or_else(Gate::open);
        let incoming = IncomingBytes::new(&self.app, &self.tenant, gate);
        let mut connection = SocketConnection::new(socket, incoming, self.app.settings().idle);
        let served = async {
            match self.serve_messages(&mut connection, &mut lost).await {
                SocketEnd::Gone => connection.confirm_close().await,
                SocketEnd::Closed(code, reason) => connection.close(code, reason).await,
                SocketEnd::Refused(refusal) => {
                    let event = error_events::refusal_event(&refusal);
                    connection.refuse(refusal.status, event).await;
                }
            }
        };
        tokio::select! {
            biased;
            () = wait_for_close(takeover.as_ref(), CloseMode::Now) => {}
            () = served => {}
        }
    }

    /// Serves messages, one after the other, for as long as the client has access. A response that
    /// has begun ends with an error before, as over HTTP.
    async fn serve_messages(
        &mut self,
        connection: &mut SocketConnection,
        lost: &mut LostAccess,
    ) -> SocketEnd {
        let lifetime = Instant::now() + MAX_LIFETIME;
        loop {
            let takeover = self.takeover.clone();
            let idle = idle_timeout(connection.reserved());
            let until = lifetime.min(Instant::now() + idle);
            let received = tokio::select! {
                biased;
                () = wait_for_close(takeover.as_ref(), CloseMode::Gracefully) => {
                    return SocketEnd::Closed(close_code::AWAY, "the server is shutting down");
                }
                refusal = &mut *lost => return SocketEnd::Refused(refusal),
                received = timeout_at(until, connection.receive()) => received,
            };
            let message = match received {
                Ok(Ok(Received::Message(message))) => message,
                Ok(Ok(Received::Refused(refusal))) => return SocketEnd::Refused(refusal),
                Ok(Err(ClientGone)) => return SocketEnd::Gone,
                // It has a least rate.
                Err(_) if connection.is_receiving() && Instant::now() < lifetime => continue,
                Err(_) => {
                    let limit = (Instant::now() < lifetime).then_some(idle);
                    return close_expired(connection, limit).await;
                }
            };
            self.protect(true);
            let turn = timeout(MAX_TURN_DURATION, self.reply(connection, message)).await;
            self.protect(false);
            match turn {
                Ok(Ok(())) => {}
                Ok(Err(ClientGone)) => return SocketEnd::Gone,
                Err(_) => return close_expired(connection, None).await,
            }
        }
    }

    async fn reply(
        &mut self,
        connection: &mut SocketConnection,
        message: Message,
    ) -> Result<(), ClientGone> {
        match message {
            Message::Text(text) => self.turn(connection, text).await,
            _ => {
                let error =
                    error_events::error_event(StatusCode::BAD_REQUEST, message::not_text_error());
                connection.send(error).await
            }
        }
    }

    /// Only a connection with an active turn is protected from eviction.
    fn protect(&mut self, protects: bool) {
        match &mut self.active {
            Some(active) if protects => active.protect(),
            Some(active) => active.unprotect(),
            None => {}
        }
    }
}

/// How long a connection may be without a message that has so many bytes counted for its tenant.
fn idle_timeout(reserved: usize) -> Duration {
    if reserved > MAX_IDLE_BYTES {
        LARGE_IDLE_TIMEOUT
    } else {
        IDLE_TIMEOUT
    }
}

/// Ends a connection that reached its lifetime, or this idle timeout.
async fn close_expired(connection: &mut SocketConnection, idle: Option<Duration>) -> SocketEnd {
    match connection.send(error_events::limit_event(idle)).await {
        Ok(()) => SocketEnd::Closed(close_code::NORMAL, "connection time limit reached"),
        Err(ClientGone) => SocketEnd::Gone,
    }
}

/// Waits until the connection is asked to close in this mode or a stricter one.
async fn wait_for_close(takeover: Option<&Takeover>, mode: CloseMode) {
    poll_fn(
        |context| match takeover.map(|takeover| takeover.state.poll_close(context)) {
            Some(Some(close)) if close >= mode => Poll::Ready(()),
            _ => Poll::Pending,
        },
    )
    .await;
}
