//! A cluster inside this process: a gateway, a worker with a sandbox of its own, and a bus between
//! them. Tests of other crates include this file: what they test with the sandbox of one host,
//! they test a second time with this in its place.
//!
//! | module | owns |
//! |---|---|
//! | `left_out` | which tests are not run a second time, and why |
//!
//! It knows nothing of runs, skills and servers.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test binary uses what it needs of this module"
)]

pub(crate) mod left_out;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prowess_bus::Bus;
use prowess_cluster::{ClusterSandboxes, ClusterSettings};
use prowess_sandbox::{Sandbox, SandboxSettings, SharedSandboxes};
use prowess_store::Store;
use prowess_worker::{WorkerService, WorkerSettings};
use tokio::time::Instant;

/// The first part of all subjects.
pub(crate) const NAMESPACE: &str = "prowess";
/// The name of the gateway.
pub(crate) const GATEWAY: &str = "gateway-0";

/// How long a command waits until the worker has room.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// How long it may take until the gateway has heard of the worker.
const PATIENCE: Duration = Duration::from_secs(30);

/// A gateway's sandboxes, and its only worker.
#[derive(Debug)]
pub(crate) struct OneWorker {
    pub(crate) bus: Bus,
    pub(crate) cluster: Arc<ClusterSandboxes>,
    _service: WorkerService,
}

impl OneWorker {
    /// Starts both. The worker has its data in `folder` and runs commands with these settings;
    /// those for containers are the gateway's.
    pub(crate) async fn start(store: Store, folder: &Path, settings: SandboxSettings) -> Self {
        let bus = Bus::local();
        let gateway = ClusterSettings {
            // Tests with many commands at once need not end soon on a busy machine.
            wait: MAX_WAIT,
            container_idle: settings.container_idle,
            container_life: settings.container_life,
            containers_per_tenant: settings.containers_per_tenant,
            evict_idle: settings.evict_idle,
            ..ClusterSettings::new(bus.clone(), NAMESPACE, GATEWAY)
        };
        // Before the worker, so that its first beat is heard.
        let cluster = ClusterSandboxes::start(store, gateway).await.unwrap();
        let worker = WorkerSettings {
            slots: settings.running,
            waiting: settings.running,
            ..WorkerSettings::new("worker-0", folder.join("cache"))
        };
        let sandbox = SandboxSettings {
            folder: folder.join("sandbox"),
            waiting: worker.waiting,
            ..settings
        };
        let sandbox = Sandbox::open(sandbox).await.unwrap();
        let service = WorkerService::start(bus.clone(), sandbox, worker).await;
        let started = OneWorker {
            bus,
            cluster: Arc::new(cluster),
            _service: service.unwrap(),
        };
        let deadline = Instant::now() + PATIENCE;
        while started.cluster.workers().is_empty() {
            assert!(Instant::now() < deadline, "the worker is not known in time");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        started
    }

    /// What is used in place of the sandbox of one host.
    pub(crate) fn sandboxes(&self) -> SharedSandboxes {
        Arc::clone(&self.cluster) as SharedSandboxes
    }
}
