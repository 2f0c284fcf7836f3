//! Why a worker cannot start.

use prowess_bus::BusError;
use std::io;

/// A worker that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The bus is not usable.
    #[error("cannot use the message bus: {0}")]
    Bus(#[from] BusError),
    /// The state folder is not usable.
    #[error("cannot use the state folder {folder}: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// The cause.
        source: io::Error,
    },
    /// Another worker uses the same folder.
    #[error("another worker uses the state folder {folder}; give each worker its own (--state)")]
    InUse {
        /// The folder.
        folder: String,
    },
    /// Containers of an earlier start cannot be removed.
    #[error("cannot remove containers of an earlier start: {0}")]
    Sandbox(#[from] prowess_sandbox::Error),
}
