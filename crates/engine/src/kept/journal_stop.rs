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
    /// The lease was not renewed in time, as the store did not answer: another server may own
    /// the run from now on.
    #[error("the lease could not be renewed in time")]
    LeaseOver,
    /// Someone else still uses the container of a run that is resumed: a server that lost the
    /// run. It is resumed again when its lease has run out.
    #[error("the container of the run is still in use")]
    ContainerInUse,
    /// The store failed, so what was stored is unknown. The run is resumed when its lease has
    /// run out.
    #[error("the journal cannot be written: {0}")]
    Store(#[from] StoreError),
    /// The store could not be reached for something that the run needs beside its journal. The
    /// run is resumed when its lease has run out.
    #[error("the store cannot be reached: {0}")]
    Outage(Box<RunError>),
}
