//! The gateways and workers of a cluster.

use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::connection::{Client, read_json};
use crate::error::Error;

/// A cluster, as one of its gateways knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteCluster {
    /// The name of the gateway that answered; none if it is in no cluster.
    pub gateway: Option<String>,
    /// Its connection with the others.
    pub bus: Option<RemoteBus>,
    /// All gateways that it has seen lately, with itself.
    pub gateways: Vec<RemoteGateway>,
    /// All workers that it has seen lately.
    pub workers: Vec<RemoteWorker>,
}

/// The connection of a gateway with the bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteBus {
    /// Whether messages can be published.
    pub connected: bool,
    /// Messages that were published.
    pub published: u64,
    /// Messages that were received.
    pub received: u64,
    /// Messages that could not be published, or were dropped on arrival.
    pub lost: u64,
    /// How often a lost connection was made again.
    pub reconnects: u64,
}

/// A gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteGateway {
    /// Its name.
    pub id: String,
    /// The version of its program.
    pub version: String,
    /// `ready`, `draining` or `lost`.
    pub state: String,
    /// Kept runs in progress.
    pub kept_runs: u64,
    /// Kept runs that it holds the lease of.
    pub leases: u64,
    /// When it was last seen.
    pub seen_ms_ago: u64,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteWorker {
    /// Its name.
    pub id: String,
    /// The version of its program.
    pub version: String,
    /// `ready`, `draining` or `lost`.
    pub state: String,
    /// How well it isolates commands.
    pub grade: String,
    /// Commands that run.
    pub running: u64,
    /// Commands that wait.
    pub waiting: u64,
    /// Commands that can run at once.
    pub slots: u64,
    /// Free bytes of its disk.
    pub free_disk_bytes: u64,
    /// When it was last seen.
    pub seen_ms_ago: u64,
}

impl Client {
    /// The cluster that the server is a gateway of, with the master key.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub async fn cluster(&self) -> Result<RemoteCluster, Error> {
        let request = self.request(Method::GET, "/admin/cluster");
        read_json(self.send(request).await?).await
    }
}
