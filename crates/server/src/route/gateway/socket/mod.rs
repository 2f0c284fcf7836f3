//! `GET /v1/responses` as a WebSocket: a client sends `response.create` messages and is
//! sent the events of each answer, one answer after the other.
//!
//! Each message is a request like any other: it is checked for its key, limits and body as
//! one that comes over HTTP, and takes the same way. The connection counts as a request of
//! its tenant that is under way, from its first byte to its last.
//!
//! | module | owns |
//! |---|---|
//! | `message` | what a client sends, as the body of a request |
//! | `memory` | the last answer, where it is not stored |
//! | `events` | what a client is sent |

mod events;
mod memory;
mod message;

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::header::{ALLOW, CONNECTION, CONTENT_TYPE, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

pub(crate) use memory::Memories;

use self::memory::Memory;
use self::message::Create;
use super::{Wanted, forward};
use crate::app::App;
use crate::auth::{Caller, Need};
use crate::connections::{Close, Takeover, Underway, current};
use crate::context::Exchange;
use crate::error::ApiError;
use crate::route::wrong_method;
use prowess_provider::Task;
use prowess_wire::Client;

/// How long a connection may be without a message.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// How long a connection may last.
const LIFETIME: Duration = Duration::from_secs(60 * 60);
/// What its requests are called in the log.
const ROUTE: &str = "/v1/responses";

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
    let session = Session {
        memory: app.socket_memories().of(&caller.tenant),
        app,
        headers: for_requests(headers),
        takeover: takeover.map(|Extension(takeover)| takeover),
        _underway: current::take(),
    };
    let upgrade = upgrade.max_message_size(limit).max_frame_size(limit);
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
    headers: HeaderMap,
    memory: Memory,
    takeover: Option<Takeover>,
    /// Counts the connection, and keeps it from being closed for others.
    _underway: Option<Underway>,
}

/// Why a connection ends.
enum End {
    /// The client is gone.
    Gone,
    /// With a code and a reason.
    Said(u16, &'static str),
}

impl Session {
    async fn serve(mut self, mut socket: WebSocket) {
        let lifetime = Instant::now() + LIFETIME;
        let takeover = self.takeover.clone();
        let end = tokio::select! {
            biased;
            () = closed(takeover.as_ref(), Close::Now) => End::Gone,
            end = self.attend(&mut socket, lifetime) => end,
        };
        if let End::Said(code, reason) = end {
            let frame = CloseFrame {
                code,
                reason: reason.into(),
            };
            // Whoever is gone hears nothing.
            let _ = socket.send(Message::Close(Some(frame))).await;
        }
    }

    /// Answers messages, one after the other.
    async fn attend(&mut self, socket: &mut WebSocket, lifetime: Instant) -> End {
        loop {
            let takeover = self.takeover.clone();
            let until = lifetime.min(Instant::now() + IDLE);
            let received = tokio::select! {
                biased;
                () = closed(takeover.as_ref(), Close::Gracefully) => {
                    return End::Said(close_code::AWAY, "the server stops");
                }
                received = timeout_at(until, socket.recv()) => received,
            };
            let Ok(received) = received else {
                let limit = events::limit_reached(Instant::now() >= lifetime);
                let _ = socket.send(limit).await;
                return End::Said(close_code::NORMAL, "the connection was open for too long");
            };
            let sent = match received {
                Some(Ok(Message::Text(text))) => self.turn(socket, text.as_str()).await,
                Some(Ok(Message::Binary(_))) => {
                    let error = events::error(StatusCode::BAD_REQUEST, message::not_text());
                    socket.send(error).await
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return End::Gone,
            };
            if sent.is_err() {
                return End::Gone;
            }
        }
    }

    /// Answers one message.
    async fn turn(&mut self, socket: &mut WebSocket, text: &str) -> Result<(), axum::Error> {
        let create = match Create::read(text) {
            Ok(create) => create,
            Err(error) => {
                return socket
                    .send(events::error(StatusCode::BAD_REQUEST, error))
                    .await;
            }
        };
        let create = self.memory.resume(create);
        if !create.generate {
            let response = create.warmed_up();
            self.memory.remember(&create, &response);
            return events::replay(socket, &response).await;
        }
        let answered = self.ask(create.body()).await;
        match events::send_all(socket, answered).await? {
            Some(response) if !create.stores => self.memory.remember(&create, &response),
            _ => self.memory.forget(),
        }
        Ok(())
    }

    /// Asks as over HTTP.
    async fn ask(&self, body: String) -> Response {
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static(ROUTE);
        *request.headers_mut() = self.headers.clone();
        let exchange = Exchange::begin(&request, ROUTE);
        let wanted = Wanted::new(Client::Responses, Task::Generate);
        let answer = forward(&self.app, wanted, request, exchange.id());
        let answer = exchange.scope(answer).await;
        exchange.end(answer.unwrap_or_else(IntoResponse::into_response))
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
