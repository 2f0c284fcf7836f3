//! A connection that a request takes over, to speak something else than HTTP on it.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::ConnectionState;

/// What goes along with a request that may take its connection over. The connection keeps
/// its place until the last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Takeover {
    /// By which the connection is asked to close.
    pub(crate) state: Arc<ConnectionState>,
    _alive: mpsc::Sender<()>,
}

impl Takeover {
    /// Whoever has the other end of the channel waits for the last clone.
    pub(crate) fn new(state: Arc<ConnectionState>, alive: mpsc::Sender<()>) -> Takeover {
        Takeover {
            state,
            _alive: alive,
        }
    }
}
