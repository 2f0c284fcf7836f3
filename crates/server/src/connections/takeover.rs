//! A connection that a request upgrades to another protocol than HTTP.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::ConnectionState;
use crate::bodies::Gate;

/// Attached to a request that may upgrade its connection. The connection keeps its slot until
/// the last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Takeover {
    /// With this the connection is asked to close.
    pub(crate) state: Arc<ConnectionState>,
    /// What is read from the connection passes it.
    pub(crate) gate: Gate,
    _alive: mpsc::Sender<()>,
}

impl Takeover {
    /// The receiver of the channel waits for the last clone.
    pub(crate) fn new(
        state: Arc<ConnectionState>,
        gate: Gate,
        alive: mpsc::Sender<()>,
    ) -> Takeover {
        Takeover {
            state,
            gate,
            _alive: alive,
        }
    }
}
