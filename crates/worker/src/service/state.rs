//! What all tasks of a worker share, and sending replies to gateways.

use super::active_command::ActiveCommand;
use super::commands::Commands;
use super::contents::{ContentCache, ContentTransfers};
use super::copies::Copies;
use super::error::WorkerError;
use super::folder::StateFolder;
use super::kept_result::KeptResult;
use super::recent_keys::RecentKeys;
use super::settings::WorkerSettings;
use crate::protocol::{PROTOCOL_VERSION, WorkerBeat, WorkerReply, beats_subject, encode};
use prowess_bus::{Bus, BusError};
use prowess_sandbox::{Grade, Sandbox};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

/// A running worker.
#[derive(Debug)]
pub(super) struct WorkerState {
    pub(super) bus: Bus,
    pub(super) sandbox: Sandbox,
    pub(super) settings: WorkerSettings,
    pub(super) copies: Copies,
    pub(super) cache: Arc<ContentCache>,
    pub(super) transfers: ContentTransfers,
    commands: Mutex<Commands<KeptResult>>,
    recent_skills: Mutex<RecentKeys>,
    recent_layers: Mutex<RecentKeys>,
    /// A random text of this start.
    boot: String,
    draining: AtomicBool,
    /// Tasks of requests that are not done.
    tasks: watch::Sender<usize>,
}

/// Counts a task until it is dropped.
#[derive(Debug)]
pub(super) struct TaskGuard(Arc<WorkerState>);

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.tasks.send_modify(|tasks| *tasks -= 1);
    }
}

impl WorkerState {
    pub(super) fn new(
        bus: Bus,
        sandbox: Sandbox,
        settings: WorkerSettings,
        folder: &StateFolder,
    ) -> Result<Self, WorkerError> {
        let contents = folder.contents();
        let cache = ContentCache::open(&contents, settings.cache_bytes);
        let cache = cache.map_err(|source| WorkerError::Folder {
            folder: contents.display().to_string(),
            source,
        })?;
        Ok(Self {
            bus,
            sandbox,
            settings,
            copies: Copies::default(),
            cache: Arc::new(cache),
            transfers: ContentTransfers::default(),
            commands: Mutex::default(),
            recent_skills: Mutex::default(),
            recent_layers: Mutex::default(),
            boot: random_text(),
            draining: AtomicBool::new(false),
            tasks: watch::Sender::new(0),
        })
    }

    /// Counts a task of a request.
    pub(super) fn task(self: &Arc<Self>) -> TaskGuard {
        self.tasks.send_modify(|tasks| *tasks += 1);
        TaskGuard(Arc::clone(self))
    }

    /// Waits until there is no task of a request.
    pub(super) async fn idle(&self) {
        // The sender is here, so it cannot fail.
        let _ = self.tasks.subscribe().wait_for(|tasks| *tasks == 0).await;
    }

    pub(super) fn start_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    pub(super) fn commands(&self) -> MutexGuard<'_, Commands<KeptResult>> {
        lock(&self.commands)
    }

    pub(super) fn add_recent_skill(&self, key: String) {
        lock(&self.recent_skills).add(key);
    }

    pub(super) fn add_recent_layer(&self, key: String) {
        lock(&self.recent_layers).add(key);
    }

    /// What this worker announces.
    pub(super) fn beat(&self) -> WorkerBeat {
        let (running, _) = self.sandbox.load();
        let grade = match self.sandbox.host_probe().grade {
            Grade::Strict => "strict",
            Grade::Reduced { .. } => "reduced",
            Grade::Refused { .. } => "refused",
        };
        WorkerBeat {
            id: self.settings.id.clone(),
            boot: self.boot.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL_VERSION,
            running,
            waiting: self.commands().active().saturating_sub(running),
            slots: self.settings.slots,
            free_disk_bytes: free_disk_bytes(&self.settings.folder),
            grade: grade.to_owned(),
            draining: self.is_draining(),
            skills: lock(&self.recent_skills).list(),
            layers: lock(&self.recent_layers).list(),
        }
    }

    /// Announces this worker.
    pub(super) async fn publish_beat(&self) {
        let subject = beats_subject(&self.settings.namespace);
        let sent = match encode(&self.beat()) {
            Ok(payload) => self.bus.publish(&subject, payload).await,
            Err(error) => return tracing::error!(%error, "cannot encode a beat"),
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "a beat was not sent");
        }
    }

    /// Sends a reply to one gateway. That it is sent does not mean that it arrives.
    pub(super) async fn send(&self, listener: &str, reply: &WorkerReply) -> Result<(), BusError> {
        let payload = encode(reply).map_err(|error| BusError::Invalid {
            why: error.to_string(),
        })?;
        let sent = self.bus.publish(listener, payload).await;
        if let Err(error) = &sent {
            tracing::debug!(%error, "a reply was not sent");
        }
        sent
    }

    /// Sends a reply to all who wait for a command.
    pub(super) async fn send_all(&self, command: &ActiveCommand, reply: &WorkerReply) {
        for listener in command.listeners() {
            // Who does not get it notices the silence.
            let _ = self.send(&listener, reply).await;
        }
    }

    /// Sends beats to all who wait for a command, until the work is done.
    pub(super) async fn with_beats<T>(
        &self,
        command: &ActiveCommand,
        work: impl Future<Output = T>,
    ) -> T {
        let every = self.settings.beat_interval;
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                _ = ticks.tick() => self.send_all(command, &WorkerReply::Beat).await,
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Free bytes on the disk of a folder; none if that is not known, so that nobody relies on it.
fn free_disk_bytes(folder: &std::path::Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// A text that no other start of a worker has.
fn random_text() -> String {
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_err() {
        // Without random numbers, the time still differs between starts.
        let since = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap_or_default();
        bytes = (since.as_nanos() as u64).to_le_bytes();
    }
    let mut text = String::new();
    for byte in bytes {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
