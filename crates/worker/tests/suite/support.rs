//! A worker with a sandbox of its own.

use prowess_bus::Bus;
use prowess_sandbox::{Sandbox, SandboxSettings};
use prowess_worker::{WorkerService, WorkerSettings};
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const WORKER: &str = "w-1";

/// A running worker.
pub(crate) struct TestWorker {
    pub(crate) service: WorkerService,
    pub(crate) sandbox: Sandbox,
    pub(crate) folder: TempDir,
}

impl TestWorker {
    pub(crate) async fn start(bus: &Bus) -> Self {
        Self::with(bus, |_| {}).await
    }

    pub(crate) async fn with(bus: &Bus, change: impl FnOnce(&mut WorkerSettings)) -> Self {
        let folder = TempDir::new().unwrap();
        let mut settings = settings(&folder);
        change(&mut settings);
        let sandbox = open_sandbox(&folder, &settings).await;
        Self::with_sandbox(bus, folder, settings, sandbox).await
    }

    /// One with two slots, of which a tenant gets one.
    pub(crate) async fn with_share_of_half(bus: &Bus) -> Self {
        let folder = TempDir::new().unwrap();
        let settings = WorkerSettings {
            slots: 2,
            ..settings(&folder)
        };
        let mut sandbox = sandbox_settings(&folder, &settings);
        sandbox.commands_per_tenant = None;
        let sandbox = Sandbox::open(sandbox).await.unwrap();
        Self::with_sandbox(bus, folder, settings, sandbox).await
    }

    async fn with_sandbox(
        bus: &Bus,
        folder: TempDir,
        settings: WorkerSettings,
        sandbox: Sandbox,
    ) -> Self {
        let service = WorkerService::start(bus.clone(), sandbox.clone(), settings);
        Self {
            service: service.await.unwrap(),
            sandbox,
            folder,
        }
    }
}

pub(crate) fn settings(folder: &TempDir) -> WorkerSettings {
    WorkerSettings {
        slots: 4,
        waiting: 4,
        // Often, so that tests need not wait for what is done regularly.
        beat_interval: Duration::from_millis(20),
        ..WorkerSettings::new(WORKER, folder.path().join("cache"))
    }
}

pub(crate) async fn open_sandbox(folder: &TempDir, settings: &WorkerSettings) -> Sandbox {
    let settings = sandbox_settings(folder, settings);
    Sandbox::open(settings).await.unwrap()
}

fn sandbox_settings(folder: &TempDir, settings: &WorkerSettings) -> SandboxSettings {
    let mut sandbox = SandboxSettings::new(folder.path().join("sandbox"));
    sandbox.allow_reduced = true;
    sandbox.warm = 0;
    sandbox.running = settings.slots;
    sandbox.waiting = settings.waiting;
    sandbox.commands_per_tenant = Some(settings.slots);
    sandbox
}
