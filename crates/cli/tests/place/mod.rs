//! Where the commands of a server in this process run: in a sandbox of its own or, in the test
//! binary `over_a_cluster`, at a worker of a cluster whose gateway it is.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test binary uses what it needs of this module"
)]

#[path = "../../../cluster/tests/one_worker/mod.rs"]
pub(crate) mod one_worker;

use std::sync::Arc;

use one_worker::{GATEWAY, NAMESPACE, OneWorker};
use prowess::server::{App, ServerSettings};
use prowess::{Builder, Prowess};
use prowess_cluster::ClusterSandboxes;
use prowess_engine::{EngineSettings, SandboxHandle};
use prowess_sandbox::SandboxSettings;
use prowess_server::{ClusterMembership, ClusterView, ClusterWorker};
use prowess_store::Store;
use tempfile::TempDir;

/// A server in this process.
pub(crate) struct LocalServer {
    pub(crate) prowess: Prowess,
    pub(crate) app: App,
    _worker: Option<(OneWorker, TempDir)>,
}

impl LocalServer {
    pub(crate) async fn open(
        builder: Builder,
        runs: EngineSettings,
        tune: impl FnOnce(&mut SandboxSettings) + Send + 'static,
        settings: ServerSettings,
    ) -> LocalServer {
        let builder = builder.runs(runs.clone());
        if !is_over_a_cluster() {
            let prowess = builder.sandbox(tune).open().await.unwrap();
            return LocalServer {
                app: prowess.app(settings),
                prowess,
                _worker: None,
            };
        }
        let prowess = builder.no_sandbox().open().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut sandbox = SandboxSettings::new(folder.path());
        tune(&mut sandbox);
        let worker = OneWorker::start(prowess.store().clone(), folder.path(), sandbox).await;
        let settings = ServerSettings {
            providers: Some(prowess.providers().clone()),
            runs,
            ..settings
        };
        LocalServer {
            app: gateway(prowess.store().clone(), &worker, settings),
            prowess,
            _worker: Some((worker, folder)),
        }
    }
}

/// A server that is the gateway of a worker.
pub(crate) fn gateway(store: Store, worker: &OneWorker, settings: ServerSettings) -> App {
    let settings = ServerSettings {
        sandbox: SandboxHandle::ready(worker.sandboxes()),
        cluster: Some(ClusterMembership {
            bus: worker.bus.clone(),
            gateway: GATEWAY.to_owned(),
            namespace: NAMESPACE.to_owned(),
            view: Some(Arc::new(WorkerNames(Arc::clone(&worker.cluster)))),
        }),
        ..settings
    };
    App::new(store, settings)
}

/// Which workers there are.
#[derive(Debug)]
struct WorkerNames(Arc<ClusterSandboxes>);

impl ClusterView for WorkerNames {
    fn workers(&self) -> Vec<ClusterWorker> {
        let workers = self.0.workers().into_iter();
        let workers = workers.map(|worker| ClusterWorker {
            id: worker.id,
            slots: worker.slots,
            is_alive: worker.is_alive,
            age: worker.age,
            ..ClusterWorker::default()
        });
        workers.collect()
    }
}

fn is_over_a_cluster() -> bool {
    env!("CARGO_CRATE_NAME") == "over_a_cluster"
}

/// Whether a test is not run over a cluster, which this is.
pub(crate) fn is_left_out(test: &str) -> bool {
    is_over_a_cluster() && one_worker::left_out::is_left_out(test)
}
