//! Why the owner of a run must stop.

use prowess_store::Error as StoreError;

use crate::error::RunError;

/// Bytes of all events of a run.
pub(super) const MAX_LOG_BYTES: u64 = 64 << 20;

/// Why the owner of a run must stop.
#[derive(Debug, thiserror::Error)]
pub enum JournalStop {
    /// Another server owns the run, or it has ended.
    #[error("another server owns the run")]
    Lost,
    /// The run is to be cancelled.
    #[error("the run is cancelled")]
    CancelRequested,
    /// Someone else has changed the container.
    #[error("another run has changed the container")]
    ContainerChanged,
    /// The run has written more events than are stored of one.
    #[error("the run has written more than {} MiB", MAX_LOG_BYTES >> 20)]
    LogFull,
    /// The store failed, so what was stored is unknown. The run is resumed when its lease has
    /// run out.
    #[error("the journal cannot be written: {0}")]
    Store(#[from] StoreError),
    /// The store could not be reached for something that the run needs beside its journal. The
    /// run is resumed when its lease has run out.
    #[error("the store cannot be reached: {0}")]
    Outage(Box<RunError>),
}
