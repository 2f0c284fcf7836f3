//! Whether a gateway or a worker is ready, stopping or lost.

use super::gateway_table::SeenGateway;
use super::view::ClusterWorker;

/// The state of a gateway or a worker, as this gateway knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// It takes what is new.
    Ready,
    /// It stops, and finishes what it has.
    Draining,
    /// Nothing was received of it lately.
    Lost,
}

impl MemberState {
    pub(crate) const ALL: [MemberState; 3] =
        [MemberState::Ready, MemberState::Draining, MemberState::Lost];

    pub(crate) fn new(is_alive: bool, is_draining: bool) -> MemberState {
        match (is_alive, is_draining) {
            (true, false) => MemberState::Ready,
            (true, true) => MemberState::Draining,
            (false, _) => MemberState::Lost,
        }
    }

    pub(crate) fn from_gateway(gateway: &SeenGateway) -> MemberState {
        MemberState::new(gateway.is_alive, gateway.beat.draining)
    }

    pub(crate) fn from_worker(worker: &ClusterWorker) -> MemberState {
        MemberState::new(worker.is_alive, worker.is_draining)
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            MemberState::Ready => "ready",
            MemberState::Draining => "draining",
            MemberState::Lost => "lost",
        }
    }
}
