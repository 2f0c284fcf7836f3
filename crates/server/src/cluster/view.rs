//! What a gateway shows of the workers. It is known by the code that places commands, of which
//! this crate knows nothing.

use std::fmt;
use std::time::Duration;

/// What is known of the workers of a cluster.
pub trait ClusterView: fmt::Debug + Send + Sync + 'static {
    /// The workers that were seen lately, in any order. Asked by health checks: it must not wait
    /// for anything.
    fn workers(&self) -> Vec<ClusterWorker>;
}

/// One worker, as its last heartbeat described it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClusterWorker {
    /// Its name.
    pub id: String,
    /// The version of its program.
    pub version: String,
    /// How well it isolates commands.
    pub grade: String,
    /// Commands that run.
    pub running: usize,
    /// Commands that wait for their turn.
    pub waiting: usize,
    /// Commands that can run at once.
    pub slots: usize,
    /// Free bytes of its disk.
    pub free_disk_bytes: u64,
    /// Whether it takes no more commands, because it stops.
    pub is_draining: bool,
    /// Whether it is given commands: its heartbeats arrive.
    pub is_alive: bool,
    /// How long ago its last heartbeat arrived.
    pub age: Duration,
}
