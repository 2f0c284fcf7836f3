//! Whether a write of an owner was stored.

/// What became of a step or of events that the owner of a run wanted to store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum AppendOutcome {
    /// The step and its changes are stored.
    Committed,
    /// Nothing was stored: the run is to be cancelled.
    CancelRequested,
    /// Nothing was stored: another server owns the run, or it has ended. Stop at once.
    Lost,
    /// Nothing was stored: someone else has changed the container.
    ContainerChanged,
}
