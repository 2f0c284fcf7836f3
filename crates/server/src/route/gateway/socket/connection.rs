//! A WebSocket that is read during a response and written to within a time limit.
//!
//! Without the former a client's ping would go unanswered and its leaving unnoticed during a
//! response; without the latter a client that stops reading would hold its resources.

use std::pin::pin;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::SinkExt;
use tokio::time::timeout;

/// How long the closing handshake may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The client has closed the socket, is gone, or does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientGone;

/// One socket.
pub(super) struct SocketConnection {
    socket: WebSocket,
    /// A message received during a response. No more is read until it is processed.
    next: Option<Message>,
    /// How long a client may take to read a message.
    send_timeout: Duration,
}

impl SocketConnection {
    pub(super) fn new(socket: WebSocket, send_timeout: Duration) -> SocketConnection {
        SocketConnection {
            socket,
            next: None,
            send_timeout,
        }
    }

    /// The next text or binary message. Pings are answered.
    pub(super) async fn receive(&mut self) -> Result<Message, ClientGone> {
        match self.next.take() {
            Some(message) => Ok(message),
            None => self.read().await,
        }
    }

    async fn read(&mut self) -> Result<Message, ClientGone> {
        loop {
            match self.socket.recv().await {
                Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => return Ok(message),
                // The library answers a ping with the next read.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(ClientGone),
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
                message = self.read(), if self.next.is_none() => self.next = Some(message?),
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
