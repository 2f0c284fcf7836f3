//! A run that this server owns and has not started.

use std::time::Instant;

use prowess_store::RunLease;

use super::local_runs::RunSlot;
use super::stored_request::StoredRequest;

/// A run that this server owns and has not started. If it is dropped, the run is claimed again
/// when its lease has run out.
pub(crate) struct PendingRun {
    pub(crate) lease: RunLease,
    /// When this server began or claimed it.
    pub(crate) claimed: Instant,
    pub(crate) request: StoredRequest,
    /// The id of its key; none for the operator.
    pub(crate) key: Option<String>,
    pub(crate) slot: RunSlot,
    /// Whether so many servers died with it that it is not resumed again.
    pub(crate) is_lost_too_often: bool,
}
