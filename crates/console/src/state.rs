//! What all handlers of the console share.

use std::sync::Arc;

use prowess_server::{App, InProcessApi};

use crate::pending_uploads::PendingUploads;
use crate::sign_in::attempts::SignInAttempts;

/// Cheap to clone; clones share everything.
#[derive(Clone)]
pub(crate) struct ConsoleState {
    /// The server's API, called in this process.
    pub(crate) server: InProcessApi,
    /// Failed attempts to sign in, by address.
    pub(crate) attempts: Arc<SignInAttempts>,
    /// Skills that were checked and wait to be published.
    pub(crate) pending: Arc<PendingUploads>,
}

impl ConsoleState {
    pub(crate) fn new(app: &App) -> ConsoleState {
        ConsoleState {
            server: app.in_process_api(),
            attempts: Arc::default(),
            pending: Arc::default(),
        }
    }
}
