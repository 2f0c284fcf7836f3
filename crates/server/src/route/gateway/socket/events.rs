//! Sends the events of a response, each as a text message.

use axum::body::{Body, to_bytes};
use axum::extract::ws::Message;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt;
use prowess_provider::is_event_stream;
use prowess_wire::parse_json;
use prowess_wire::sse::SseParser;
use serde_json::Value;

use super::super::conversation::FinalResponse;
use super::super::responses::replay;
use super::connection::{ClientGone, SocketConnection};
use super::error_events::{error_event, server_error};

/// Bytes of one event, and of a response that is not a stream.
pub(super) const MAX_EVENT_BYTES: usize = 16 << 20;

/// Sends a complete response as events.
pub(super) async fn send_replay(
    connection: &mut SocketConnection,
    response: &Value,
) -> Result<(), ClientGone> {
    let mut parser = SseParser::new(MAX_EVENT_BYTES);
    let mut events = Vec::new();
    // They were written just now.
    let _ = parser.push(&replay::replay_events(response, None), &mut events);
    for event in events {
        connection.send(Message::Text(event.data.into())).await?;
    }
    Ok(())
}

/// Sends all events of a response; returns the response if it completed.
pub(super) async fn send_all(
    connection: &mut SocketConnection,
    response: Response,
) -> Result<Option<Value>, ClientGone> {
    // The extensions count the request until its end.
    let (head, body) = response.into_parts();
    if !is_event_stream(&head.headers) {
        return send_whole(connection, head.status, body).await;
    }
    let mut bytes = body.into_data_stream();
    let mut parser = SseParser::new(MAX_EVENT_BYTES);
    let (mut response, mut completed) = (FinalResponse::default(), None);
    while let Some(chunk) = connection.run_while_open(bytes.next()).await? {
        let Ok(chunk) = chunk else {
            let inner = server_error("the response ended unexpectedly");
            connection
                .send(error_event(StatusCode::BAD_GATEWAY, inner))
                .await?;
            return Ok(None);
        };
        let mut events = Vec::new();
        if parser.push(&chunk, &mut events).is_err() {
            let inner = server_error("an event of the response is too long");
            connection
                .send(error_event(StatusCode::BAD_GATEWAY, inner))
                .await?;
            return Ok(None);
        }
        if events.is_empty() {
            // A keep-alive, which also detects whether the client is still there.
            connection.send(Message::Ping(Bytes::new())).await?;
        }
        for event in events {
            completed = response.push(&event.data).or(completed);
            if event.data != "[DONE]" {
                connection.send(Message::Text(event.data.into())).await?;
            }
        }
    }
    Ok(completed)
}

/// A response that is not a stream: usually an error.
async fn send_whole(
    connection: &mut SocketConnection,
    status: StatusCode,
    body: Body,
) -> Result<Option<Value>, ClientGone> {
    let bytes = connection
        .run_while_open(to_bytes(body, MAX_EVENT_BYTES))
        .await?;
    let bytes = bytes.unwrap_or_default();
    let mut body = parse_json(&bytes).unwrap_or_default();
    if status.is_success() && body.is_object() {
        send_replay(connection, &body).await?;
        return Ok(Some(body));
    }
    let inner = match body.get_mut("error") {
        Some(inner) if inner.is_object() => inner.take(),
        _ => server_error("invalid upstream response"),
    };
    connection.send(error_event(status, inner)).await?;
    Ok(None)
}
