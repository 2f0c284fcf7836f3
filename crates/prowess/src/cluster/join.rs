//! Makes this process a gateway of its cluster: it connects to the NATS servers and gives
//! commands to workers.

use std::sync::Arc;
use std::time::Duration;

use prowess_bus::Bus;
use prowess_cluster::{ClusterSandboxes, ClusterSettings};
use prowess_sandbox::{SandboxSettings, SharedSandboxes};
use prowess_store::Store;
use prowess_worker::protocol::gateway_inbox_prefix;

use super::connection::nats_settings;
use super::names::new_name;
use crate::config::ClusterConfig;

/// How long the start of a gateway waits for NATS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What a gateway has of its cluster.
#[derive(Debug)]
pub(crate) struct ClusterConnection {
    pub(super) bus: Bus,
    pub(super) gateway: String,
    pub(super) namespace: String,
    /// None if no code is run.
    pub(super) sandboxes: Option<Arc<ClusterSandboxes>>,
}

impl ClusterConnection {
    /// Where commands run.
    pub(crate) fn sandboxes(&self) -> Option<SharedSandboxes> {
        let sandboxes = self.sandboxes.clone()?;
        Some(sandboxes)
    }

    /// Sends what is still to be sent, and ends the connection.
    pub(crate) async fn leave(&self) {
        // Whoever is not told notices the silence.
        let _ = self.bus.flush().await;
        let _ = self.bus.drain().await;
    }
}

/// Joins the cluster. Without `sandbox`, no code is run. The error is for the operator.
pub(crate) async fn join(
    store: &Store,
    config: &ClusterConfig,
    sandbox: Option<&SandboxSettings>,
) -> Result<ClusterConnection, String> {
    if sandbox.is_some() && !store.can_sign() {
        let why = "the object storage cannot sign URLs for workers; set blobs.url to a bucket of S3, \
                   with credentials that may sign";
        return Err(why.to_owned());
    }
    let gateway = config.gateway.clone().unwrap_or_else(new_name);
    let namespace = config.namespace.clone();
    let inboxes = gateway_inbox_prefix(&namespace, &gateway);
    let mut connection = nats_settings(config, inboxes, format!("prowess gateway {gateway}"));
    // Requests that need no worker are served without NATS, also by a gateway that starts now.
    connection.connect_timeout = CONNECT_TIMEOUT;
    connection.start_disconnected = true;
    let bus = Bus::connect(connection).await;
    let bus = bus.map_err(|error| error.to_string())?;
    let sandboxes = match sandbox {
        Some(sandbox) => {
            let settings = ClusterSettings {
                wait: config.worker_wait,
                container_idle: sandbox.container_idle,
                container_life: sandbox.container_life,
                containers_per_tenant: sandbox.containers_per_tenant,
                evict_idle: sandbox.evict_idle,
                ..ClusterSettings::new(bus.clone(), &namespace, &gateway)
            };
            let started = ClusterSandboxes::start(store.clone(), settings).await;
            let started = started.map_err(|error| error.to_string())?;
            Some(Arc::new(started))
        }
        None => None,
    };
    Ok(ClusterConnection {
        bus,
        gateway,
        namespace,
        sandboxes,
    })
}
