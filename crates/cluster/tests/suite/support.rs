//! A cluster inside this process: a store, gateways, and workers with sandboxes of their own.

use prowess_bus::Bus;
use prowess_cluster::{ClusterSandboxes, ClusterSettings};
use prowess_sandbox::{
    Command, ContainerSpec, Execution, ExecutionReport, OutputChunk, Policy, Sandbox,
    SandboxSettings, Sandboxes, SharedSandboxes,
};
use prowess_store::{Database, Store, StoreConfig, TenantId};
use prowess_testkit::postgres::TestPostgres;
use prowess_worker::{WorkerService, WorkerSettings};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

pub(crate) const OWNER: &str = "default";

/// How long a test waits for something that has to happen.
const PATIENCE: Duration = Duration::from_secs(30);

static POSTGRES: LazyLock<TestPostgres> = LazyLock::new(TestPostgres::start);

/// What gateways and workers of a test share.
pub(crate) struct TestCluster {
    pub(crate) bus: Bus,
    pub(crate) config: StoreConfig,
    _folder: TempDir,
}

/// A worker. Dropping it is the death of its process.
pub(crate) struct TestWorker {
    pub(crate) service: WorkerService,
    pub(crate) sandbox: Sandbox,
    _folder: TempDir,
}

impl TestCluster {
    pub(crate) fn new(database: Database) -> Self {
        let folder = TempDir::new().unwrap();
        let mut config = StoreConfig::local(folder.path());
        if database == Database::Postgres {
            config.database = POSTGRES.database();
        }
        Self {
            bus: Bus::local(),
            config,
            _folder: folder,
        }
    }

    pub(crate) fn sqlite() -> Self {
        Self::new(Database::Sqlite)
    }

    /// A gateway with a connection of its own to the store.
    pub(crate) async fn gateway(&self, name: &str) -> Arc<ClusterSandboxes> {
        self.gateway_with(name, |_| {}).await
    }

    pub(crate) async fn gateway_with(
        &self,
        name: &str,
        change: impl FnOnce(&mut ClusterSettings),
    ) -> Arc<ClusterSandboxes> {
        let mut settings = ClusterSettings::new(self.bus.clone(), "prowess", name);
        change(&mut settings);
        let started = ClusterSandboxes::start(self.store().await, settings).await;
        Arc::new(started.unwrap())
    }

    pub(crate) async fn store(&self) -> Store {
        Store::open(&self.config).await.unwrap()
    }

    pub(crate) async fn add_tenant(&self, name: &str) {
        let tenant = TenantId::new(name).unwrap();
        let store = self.store().await;
        store.ensure_tenant(&tenant, name).await.unwrap();
    }

    pub(crate) async fn worker(&self, id: &str) -> TestWorker {
        let folder = TempDir::new().unwrap();
        let settings = WorkerSettings {
            slots: 4,
            waiting: 4,
            beat_interval: Duration::from_millis(50),
            ..WorkerSettings::new(id, folder.path().join("cache"))
        };
        let mut sandbox = SandboxSettings::new(folder.path().join("sandbox"));
        sandbox.allow_reduced = true;
        sandbox.warm = 0;
        sandbox.running = settings.slots;
        sandbox.waiting = settings.waiting;
        sandbox.commands_per_tenant = Some(settings.slots);
        let sandbox = Sandbox::open(sandbox).await.unwrap();
        let service = WorkerService::start(self.bus.clone(), sandbox.clone(), settings);
        TestWorker {
            service: service.await.unwrap(),
            sandbox,
            _folder: folder,
        }
    }
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until a gateway knows so many workers.
pub(crate) async fn workers_known(gateway: &ClusterSandboxes, count: usize) {
    until("workers are known", || {
        let workers = gateway.workers();
        workers.iter().filter(|worker| worker.is_alive).count() == count
    })
    .await;
}

pub(crate) fn bash(line: &str) -> Execution {
    Execution {
        command: Command::Bash(line.to_owned()),
        ..Execution::default()
    }
}

/// The same with its output as it is written.
pub(crate) fn streamed(line: &str) -> (Execution, UnboundedReceiver<OutputChunk>) {
    let (sender, receiver) = unbounded_channel();
    let execution = Execution {
        stream: Some(sender),
        ..bash(line)
    };
    (execution, receiver)
}

pub(crate) fn shared(gateway: &Arc<ClusterSandboxes>) -> SharedSandboxes {
    Arc::clone(gateway) as SharedSandboxes
}

pub(crate) async fn create(gateway: &ClusterSandboxes) -> String {
    let spec = ContainerSpec::from(Policy::default());
    Sandboxes::create(gateway, OWNER, spec).await.unwrap()
}

/// Runs a line, which has to succeed, and returns its output.
pub(crate) async fn run(gateway: &ClusterSandboxes, id: &str, line: &str) -> String {
    let report = gateway.exec(OWNER, id, bash(line)).await.unwrap();
    succeeded(&report)
}

pub(crate) fn succeeded(report: &ExecutionReport) -> String {
    assert_eq!(report.outcome.exit_code(), 0, "{report:?}");
    report.stdout.text.clone()
}

/// A whole file.
pub(crate) async fn read(gateway: &ClusterSandboxes, id: &str, path: &str) -> Vec<u8> {
    let file = gateway.get(OWNER, id, path).await.unwrap();
    let size = file.size;
    let bytes = file.read_up_to(u64::MAX).await.unwrap();
    assert_eq!(bytes.len() as u64, size);
    bytes
}

/// The paths of all files.
pub(crate) async fn paths(gateway: &ClusterSandboxes, id: &str) -> Vec<String> {
    let files = gateway.list(OWNER, id).await.unwrap();
    files.into_iter().map(|file| file.path).collect()
}
