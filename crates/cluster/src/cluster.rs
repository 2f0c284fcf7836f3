//! What a gateway has of its cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prowess_bus::BusError;
use prowess_sandbox::Grade;
use prowess_store::Store;
use prowess_worker::protocol::beats_subject;
use tokio_util::task::AbortOnDropHandle;

use crate::command::dispatcher::Dispatcher;
use crate::command::link::WorkerLink;
use crate::containers::ContainerReader;
use crate::contents::RecentContents;
use crate::counters::CommandCounts;
use crate::expiry;
use crate::layers::InstalledLayers;
use crate::locks::ContainerLocks;
use crate::registry::{self, WorkerRegistry, WorkerStatus};
use crate::settings::ClusterSettings;
use crate::skills::SkillTables;
use crate::uses::RecentUses;

/// Containers in the store, and commands run in them by workers.
#[derive(Debug)]
pub struct ClusterSandboxes {
    pub(crate) store: Store,
    pub(crate) settings: ClusterSettings,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) containers: ContainerReader,
    pub(crate) contents: RecentContents,
    pub(crate) locks: ContainerLocks,
    pub(crate) skills: SkillTables,
    pub(crate) layers: InstalledLayers,
    pub(crate) counts: CommandCounts,
    pub(crate) uses: RecentUses,
    /// A random word of this start of the gateway.
    start: u64,
    commands: AtomicU64,
    _tasks: [AbortOnDropHandle<()>; 2],
}

impl ClusterSandboxes {
    /// Begins to listen to workers, and to remove expired containers.
    ///
    /// # Errors
    /// When the bus refuses.
    pub async fn start(store: Store, settings: ClusterSettings) -> Result<Self, BusError> {
        let link = WorkerLink {
            bus: settings.bus.clone(),
            namespace: settings.namespace.clone(),
            is_leaving: Arc::default(),
        };
        let registry = Arc::new(WorkerRegistry::new(settings.waiting));
        let beats = link.bus.subscribe(&beats_subject(&link.namespace)).await?;
        let listening = registry::listen(
            link.bus.clone(),
            link.namespace.clone(),
            beats,
            Arc::clone(&registry),
        );
        let dispatcher = Dispatcher {
            link,
            registry,
            wait: settings.wait,
        };
        let expiring =
            expiry::remove_regularly(store.clone(), settings.clone(), dispatcher.clone());
        let tasks = [tokio::spawn(listening), tokio::spawn(expiring)];
        Ok(Self {
            containers: ContainerReader::new(store.clone()),
            contents: RecentContents::default(),
            store,
            settings,
            dispatcher,
            locks: ContainerLocks::default(),
            skills: SkillTables::default(),
            layers: InstalledLayers::default(),
            counts: CommandCounts::default(),
            uses: RecentUses::default(),
            start: fastrand::u64(..),
            commands: AtomicU64::new(0),
            _tasks: tasks.map(AbortOnDropHandle::new),
        })
    }

    /// The workers that were seen lately, by id.
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerStatus> {
        self.dispatcher.registry.status()
    }

    /// The isolation of the weakest worker.
    pub(crate) fn weakest_grade(&self) -> Grade {
        let mut workers = self.workers();
        workers.retain(|worker| worker.is_alive && worker.grade != "strict");
        match workers.first() {
            None => Grade::Strict,
            Some(worker) => Grade::Reduced {
                missing: vec![format!("worker {} is {}", worker.id, worker.grade)],
            },
        }
    }

    /// A name for one attempt of one command, which no other has.
    pub(crate) fn new_holder(&self) -> String {
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        let gateway = &self.settings.gateway;
        format!("{gateway}:{:016x}:{number}", self.start)
    }

    /// How long an operation waits for a container that another gateway uses.
    pub(crate) fn container_wait(&self) -> Duration {
        self.settings.wait
    }
}
