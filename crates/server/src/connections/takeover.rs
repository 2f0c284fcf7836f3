//! A connection that a request upgrades to another protocol than HTTP.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::ConnectionState;

/// Attached to a request that may upgrade its connection. The connection keeps its slot until
/// the last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Takeover {
    /// With this the connection is asked to close.
    pub(crate) state: Arc<ConnectionState>,
    _alive: mpsc::Sender<()>,
}

impl Takeover {
    /// The receiver of the channel waits for the last clone.
    pub(crate) fn new(state: Arc<ConnectionState>, alive: mpsc::Sender<()>) -> Takeover {
        Takeover {
            state,
            _alive: alive,
        }
    }
}
