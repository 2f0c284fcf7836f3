//! What happens to the connection: logged, counted, or told to whom it concerns.

use std::sync::Arc;

use async_nats::{ClientError, Event, ServerError};

use super::refusals::{Refusal, Refusals};
use crate::statistics::BusCounters;

/// Whom events concern.
#[derive(Debug, Clone)]
pub(super) struct NatsEvents {
    pub(super) counters: Arc<BusCounters>,
    pub(super) refusals: Arc<Refusals>,
}

impl NatsEvents {
    pub(super) fn take(&self, event: Event) {
        match event {
            Event::Connected => tracing::info!("connected to NATS"),
            Event::Disconnected => {
                tracing::warn!("the connection to NATS was lost; it is made again");
            }
            Event::SlowConsumer(_) => self.counters.count_dropped(),
            Event::ServerError(error) => self.take_server_error(error),
            Event::ClientError(ClientError::Other(why)) => {
                tracing::debug!(%why, "NATS cannot be reached");
            }
            Event::LameDuckMode => tracing::info!("the NATS server is about to stop"),
            Event::ClientError(_) | Event::Draining | Event::Closed => {}
        }
    }

    fn take_server_error(&self, error: ServerError) {
        match error {
            ServerError::Other(text) => match Refusal::parse(&text) {
                Some(refusal) => {
                    tracing::warn!(
                        subject = refusal.subject,
                        action = ?refusal.action,
                        "NATS refused it; permit it to this user in the server's configuration"
                    );
                    self.refusals.record(refusal);
                }
                None => tracing::warn!(error = text, "NATS reports an error"),
            },
            ServerError::AuthorizationViolation => {
                tracing::error!("NATS refuses this user; check user, password and token");
            }
            ServerError::SlowConsumer(_) => self.counters.count_dropped(),
        }
    }
}
