//! Bytes of messages that are not complete: counted for the tenant as those of request bodies are,
//! and with the same least rate.
//!
//! The library keeps the memory of a message for the next ones. So what a connection's largest
//! message took is counted until the connection ends.

use axum::Error;
use axum::extract::ws::{Message, WebSocket};
use prowess_store::TenantId;

use crate::app::App;
use crate::bodies::{BodyPace, Gate, ItemTooLong, OwnedBodyReservation};
use crate::error::HttpError;

/// Bytes that the library reads at once, and that a connection may have without being counted.
pub(super) const READ_BYTES: usize = 64 << 10;
/// Bytes that are counted ahead of an incomplete message.
const STEP_BYTES: u64 = 64 << 10;
/// Bytes of a client's ping besides what it says.
const CONTROL_BYTES: u64 = 6;

/// The incomplete message of a connection.
pub(super) struct IncomingBytes {
    app: App,
    gate: Gate,
    /// Bytes that had passed the gate when the last message was complete.
    before: u64,
    pace: BodyPace,
    reservation: OwnedBodyReservation,
    reserved: u64,
}

impl IncomingBytes {
    /// None yet. All that is read from the connection passes the gate.
    pub(super) fn new(app: &App, tenant: &TenantId, gate: Gate) -> IncomingBytes {
        IncomingBytes {
            before: gate.received(),
            pace: BodyPace::new(app.settings()),
            reservation: app.body_budget().reserve_owned(tenant),
            reserved: 0,
            app: app.clone(),
            gate,
        }
    }

    /// Bytes that are counted for the tenant.
    pub(super) fn reserved(&self) -> usize {
        usize::try_from(self.reserved).unwrap_or(usize::MAX)
    }

    /// The next message of any kind; none after the end.
    ///
    /// # Errors
    /// When its bytes exceed what the tenant or all may have in memory, or come too slowly.
    pub(super) async fn receive(
        &mut self,
        socket: &mut WebSocket,
    ) -> Result<Option<Result<Message, Error>>, HttpError> {
        loop {
            let held = self.held();
            let (gate, before) = (&self.gate, self.before);
            let received = if held == 0 {
                // The first byte of a message is not waited for in any hurry.
                gate.next_item(socket.recv(), 1).await
            } else {
                let more = self.reserved.saturating_sub(held);
                let next = gate.next_item(socket.recv(), more);
                let arrived = || gate.received().saturating_sub(before);
                self.pace.wait(next, arrived).await?
            };
            match received {
                Ok(message) => {
                    self.finish(message.as_ref());
                    return Ok(message);
                }
                Err(ItemTooLong) => self.reserve().await?,
            }
        }
    }

    /// Whether some of a message has arrived.
    pub(super) fn is_incomplete(&self) -> bool {
        self.held() > 0
    }

    /// Reads no more messages: what still arrives is dropped.
    pub(super) fn drop_rest(&self) {
        self.gate.drop_rest();
    }

    /// Bytes of the incomplete message.
    fn held(&self) -> u64 {
        self.gate.received().saturating_sub(self.before)
    }

    /// Counts what has arrived, and what may arrive next.
    async fn reserve(&mut self) -> Result<(), HttpError> {
        let needed = self.held().saturating_add(STEP_BYTES);
        let missing = needed.saturating_sub(self.reserved);
        let bytes = usize::try_from(missing).unwrap_or(usize::MAX);
        self.reservation.grow(bytes).await?;
        self.reserved += missing;
        Ok(())
    }

    /// A message is complete. A ping may be one in the middle of another.
    fn finish(&mut self, message: Option<&Result<Message, Error>>) {
        let received = self.gate.received();
        self.before = match message {
            Some(Ok(Message::Ping(bytes) | Message::Pong(bytes))) => {
                let length = CONTROL_BYTES + bytes.len() as u64;
                received.min(self.before + length)
            }
            _ => received,
        };
        if self.held() == 0 {
            self.pace = BodyPace::new(self.app.settings());
        }
    }
}
