//! A WebSocket that is read during a response and written to within a time limit.
//!
//! Without the former a client's ping would go unanswered and its leaving unnoticed during a
//! response; without the latter a client that stops reading would hold its resources.

use std::pin::pin;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use axum::http::StatusCode;
use futures_util::SinkExt;
use tokio::time::timeout;

use super::incoming::IncomingBytes;
use crate::error::HttpError;

/// How long the closing handshake may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The client has closed the socket, is gone, or does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientGone;

/// What a client has sent.
pub(super) enum Received {
    /// A text or binary message.
    Message(Message),
    /// The beginning of a message that is not read on. No other can follow it.
    Refused(HttpError),
}

/// One socket.
pub(super) struct SocketConnection {
    socket: WebSocket,
    incoming: IncomingBytes,
    /// What was received during a response. No more is read until it is processed.
    next: Option<Received>,
    /// How long a client may take to read a message.
    send_timeout: Duration,
}

impl SocketConnection {
    pub(super) fn new(
        socket: WebSocket,
        incoming: IncomingBytes,
        send_timeout: Duration,
    ) -> SocketConnection {
        SocketConnection {
            socket,
            incoming,
            next: None,
            send_timeout,
        }
    }

    /// Whether some of a message has arrived.
    pub(super) fn is_receiving(&self) -> bool {
        self.incoming.is_incomplete()
    }

    /// Bytes of messages that are counted for the tenant until the connection ends.
    pub(super) fn reserved(&self) -> usize {
        self.incoming.reserved()
    }

    /// The next text or binary message. Pings are answered.
    pub(super) async fn receive(&mut self) -> Result<Received, ClientGone> {
        match self.next.take() {
            Some(received) => Ok(received),
            None => self.read().await,
        }
    }

    async fn read(&mut self) -> Result<Received, ClientGone> {
        loop {
            match self.incoming.receive(&mut self.socket).await {
                Ok(Some(Ok(message @ (Message::Text(_) | Message::Binary(_))))) => {
                    return Ok(Received::Message(message));
                }
                // The library answers a ping with the next read.
                Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
                Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return Err(ClientGone),
                Err(refusal) => return Ok(Received::Refused(refusal)),
            }
        }
    }

    /// Runs a future, which is dropped if the client leaves.
    pub(super) async fn run_while_open<F: Future>(
        &mut self,
        work: F,
    ) -> Result<F::Output, ClientGone> {
        let mut work = pin!(work);
        loop {
            // Not biased: a future that is always ready must not delay pings.
            tokio::select! {
                output = &mut work => return Ok(output),
                received = self.read(), if self.next.is_none() => self.next = Some(received?),
            }
        }
    }

    /// Sends a message and waits until it is written.
    pub(super) async fn send(&mut self, message: Message) -> Result<(), ClientGone> {
        match timeout(self.send_timeout, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(ClientGone),
            Err(_) => {
                tracing::debug!("WebSocket closed: the client does not read");
                Err(ClientGone)
            }
        }
    }

    /// Closes the socket with an event that says why. A client that is sending a message may read
    /// only when it is sent, so the rest of it is read and dropped for a while.
    pub(super) async fn refuse(&mut self, status: StatusCode, event: Message) {
        let is_sending = self.is_receiving();
        if is_sending {
            self.incoming.drop_rest();
        }
        if self.send(event).await.is_err() {
            return;
        }
        let is_temporary = matches!(status.as_u16(), 429 | 503);
        let code = if is_temporary {
            close_code::AGAIN
        } else {
            close_code::POLICY
        };
        self.close(code, "the event before has the reason").await;
        if is_sending {
            let _ = timeout(CLOSE_TIMEOUT, self.socket.recv()).await;
        }
    }

    /// Closes the socket with a reason.
    pub(super) async fn close(&mut self, code: u16, reason: &'static str) {
        let reason = reason.into();
        // A client that is gone needs no reason.
        let _ = self
            .send(Message::Close(Some(CloseFrame { code, reason })))
            .await;
    }

    /// Completes the closing handshake of the client.
    pub(super) async fn confirm_close(&mut self) {
        let _ = timeout(CLOSE_TIMEOUT, self.socket.close()).await;
    }
}
