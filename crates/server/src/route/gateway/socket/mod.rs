//! `GET /v1/responses` as a WebSocket: a client sends `response.create` messages and is
//! sent the events of each answer, one answer after the other.
//!
//! Each message is a request like any other: it is checked for its key, limits and body as
//! one that comes over HTTP, and takes the same way. The connection counts as a request of
//! its tenant that is under way, from its first byte to its last; between two answers it may
//! be closed for others.
//!
//! | module | owns |
//! |---|---|
//! | `open` | how many sockets there may be |
//! | `connection` | reading and writing, in bounded time |
//! | `turn` | one message and its answer |
//! | `message` | what a client sends, as the body of a request |
//! | `memory` | the last answer, where it is not stored |
//! | `events` | what a client is sent |

mod connection;
mod events;
mod memory;
mod message;
mod open;
mod turn;

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::header::{ALLOW, CONNECTION, CONTENT_TYPE, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use prowess_store::TenantId;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

pub(crate) use memory::Memories;
pub(crate) use open::OpenSockets;

use self::connection::{Connection, Gone};
use self::memory::Memory;
use self::open::OpenSocket;
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::connections::{Close, Takeover, Underway, current};
use crate::error::ApiError;
use crate::route::wrong_method;

/// How long a connection may be without a message.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// How long a connection may last.
const LIFETIME: Duration = Duration::from_secs(60 * 60);
/// How long one answer may take, which may outlast the connection's time.
const MAX_TURN: Duration = Duration::from_secs(60 * 60);
/// Bytes that wait to be written: one event, and answers to pings.
const MAX_WRITE_BUFFER_BYTES: usize = 2 * events::MOST;

/// Takes a connection over.
pub(super) async fn connect(
    State(app): State<App>,
    caller: Caller,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    takeover: Option<Extension<Takeover>>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    caller.may(Need::UseModels)?;
    if !headers.contains_key(UPGRADE) {
        let refusal = wrong_method(method, uri).into_response();
        return Ok(([(ALLOW, "POST")], refusal).into_response());
    }
    let upgrade = upgrade.map_err(|rejection| {
        let message = format!("no WebSocket: {}", rejection.body_text());
        ApiError::new(rejection.status(), "websocket-refused", message)
    })?;
    let limit = app.settings().request_bytes;
    let open = app.open_sockets().open(&caller)?;
    let mut underway = current::take();
    if let Some(underway) = &mut underway {
        underway.unprotect();
    }
    let session = Session {
        memory: app.socket_memories().of(&caller.tenant),
        tenant: caller.tenant,
        app,
        headers: for_requests(headers),
        takeover: takeover.map(|Extension(takeover)| takeover),
        underway,
        _open: open,
    };
    let upgrade = upgrade
        .max_message_size(limit)
        .max_frame_size(limit)
        .max_write_buffer_size(MAX_WRITE_BUFFER_BYTES);
    Ok(upgrade.on_upgrade(move |socket| session.serve(socket)))
}

/// The headers that each request of the connection has.
fn for_requests(mut headers: HeaderMap) -> HeaderMap {
    let of_socket: Vec<_> = headers
        .keys()
        .filter(|name| name.as_str().starts_with("sec-websocket-"))
        .cloned()
        .collect();
    for name in of_socket.into_iter().chain([CONNECTION, UPGRADE]) {
        headers.remove(name);
    }
    let json = HeaderValue::from_static("application/json");
    headers.insert(CONTENT_TYPE, json);
    headers
}

/// One connection.
struct Session {
    app: App,
    tenant: TenantId,
    headers: HeaderMap,
    memory: Memory,
    takeover: Option<Takeover>,
    /// Counts the connection, and keeps it from being closed for others during a turn.
    underway: Option<Underway>,
    _open: OpenSocket,
}

/// Why a connection ends.
enum End {
    /// The client is gone, or does not read.
    Gone,
    /// With a code and a reason.
    Closed(u16, &'static str),
}

impl Session {
    async fn serve(mut self, socket: WebSocket) {
        let takeover = self.takeover.clone();
        let mut connection = Connection::new(socket, self.app.settings().idle);
        let served = async {
            match self.attend(&mut connection).await {
                End::Gone => connection.confirm_close().await,
                End::Closed(code, reason) => connection.close(code, reason).await,
            }
        };
        tokio::select! {
            biased;
            () = closed(takeover.as_ref(), Close::Now) => {}
            () = served => {}
        }
    }

    /// Answers messages, one after the other.
    async fn attend(&mut self, connection: &mut Connection) -> End {
        let lifetime = Instant::now() + LIFETIME;
        loop {
            let takeover = self.takeover.clone();
            let until = lifetime.min(Instant::now() + IDLE);
            let received = tokio::select! {
                biased;
                () = closed(takeover.as_ref(), Close::Gracefully) => {
                    return End::Closed(close_code::AWAY, "the server stops");
                }
                received = timeout_at(until, connection.receive()) => received,
            };
            let message = match received {
                Ok(Ok(message)) => message,
                Ok(Err(Gone)) => return End::Gone,
                Err(_) => return too_long(connection, Instant::now() >= lifetime).await,
            };
            self.protect(true);
            let turn = timeout(MAX_TURN, self.reply(connection, message)).await;
            self.protect(false);
            match turn {
                Ok(Ok(())) => {}
                Ok(Err(Gone)) => return End::Gone,
                Err(_) => return too_long(connection, true).await,
            }
        }
    }

    async fn reply(&mut self, connection: &mut Connection, message: Message) -> Result<(), Gone> {
        match message {
            Message::Text(text) => self.turn(connection, text).await,
            _ => {
                let error = events::error(StatusCode::BAD_REQUEST, message::not_text());
                connection.send(error).await
            }
        }
    }

    /// Only a connection with a turn is kept from being closed for others.
    fn protect(&mut self, protects: bool) {
        match &mut self.underway {
            Some(underway) if protects => underway.protect(),
            Some(underway) => underway.unprotect(),
            None => {}
        }
    }
}

/// Ends a connection that was open or idle for as long as one may be.
async fn too_long(connection: &mut Connection, lifetime: bool) -> End {
    match connection.send(events::limit_reached(lifetime)).await {
        Ok(()) => End::Closed(close_code::NORMAL, "the connection was open for too long"),
        Err(Gone) => End::Gone,
    }
}

/// Waits until the connection is asked to close so, or more strictly.
async fn closed(takeover: Option<&Takeover>, how: Close) {
    poll_fn(
        |context| match takeover.map(|takeover| takeover.link.poll_close(context)) {
            Some(Some(close)) if close >= how => Poll::Ready(()),
            _ => Poll::Pending,
        },
    )
    .await;
}

/// The items of an `input`: a text, or a list.
fn items_of(input: &Value) -> Vec<Value> {
    let text = input.to_string();
    super::stored::items::input(Some(&text)).unwrap_or_default()
}
