//! What a server shows of the workers, and what makes it a gateway.

use std::sync::Arc;

use prowess_cluster::ClusterSandboxes;
use prowess_server::{ClusterMembership, ClusterView, ClusterWorker};

use super::join::ClusterConnection;

/// The workers that commands are given to.
#[derive(Debug)]
struct WorkersView(Arc<ClusterSandboxes>);

impl ClusterView for WorkersView {
    fn workers(&self) -> Vec<ClusterWorker> {
        let workers = self.0.workers().into_iter();
        let workers = workers.map(|worker| ClusterWorker {
            id: worker.id,
            version: worker.version,
            grade: worker.grade,
            running: worker.running,
            waiting: worker.waiting,
            slots: worker.slots,
            free_disk_bytes: worker.free_disk_bytes,
            is_draining: worker.is_draining,
            is_alive: worker.is_alive,
            age: worker.age,
        });
        workers.collect()
    }
}

impl ClusterConnection {
    /// The place of a server in the cluster.
    pub(crate) fn membership(&self) -> ClusterMembership {
        let view = self
            .sandboxes
            .clone()
            .map(|sandboxes| -> Arc<dyn ClusterView> { Arc::new(WorkersView(sandboxes)) });
        ClusterMembership {
            bus: self.bus.clone(),
            gateway: self.gateway.clone(),
            namespace: self.namespace.clone(),
            view,
        }
    }
}
