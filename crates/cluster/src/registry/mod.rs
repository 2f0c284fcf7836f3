//! The workers that announce themselves, how loaded they are, and the commands that wait for
//! one of them.
//!
//! | module | owns |
//! |---|---|
//! | `known_worker` | one worker, as its beats and the commands sent to it tell |
//! | `listen` | receiving the beats, and asking workers whether those are theirs |
//!
//! It sends nothing else, and knows nothing of containers.

mod known_worker;
mod listen;

pub(crate) use listen::listen;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use prowess_bus::subject;
use prowess_worker::protocol::{SILENCE_TIMEOUT, WorkerBeat};
use serde::Serialize;
use tokio::time::Instant;

use crate::placement::{self, WorkerCandidate};
use crate::waiting::WaitLine;
use known_worker::KnownWorker;

/// Workers that are known at once.
const MAX_WORKERS: usize = 4_096;
/// How long a worker that is silent is shown.
const SHOWN_FOR: Duration = Duration::from_secs(60);

/// A worker of the cluster, as this gateway sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkerStatus {
    /// Its id.
    pub id: String,
    /// The start of its process.
    pub boot: String,
    /// The version of its program.
    pub version: String,
    /// The isolation of its sandbox: `strict` or `reduced`.
    pub grade: String,
    /// Commands that run there.
    pub running: usize,
    /// Commands that wait there.
    pub waiting: usize,
    /// Commands that it runs at once.
    pub slots: usize,
    /// Commands of this gateway among them.
    pub in_flight: usize,
    /// Free bytes on its disk.
    pub free_disk_bytes: u64,
    /// Whether it accepts no further commands.
    pub is_draining: bool,
    /// Whether its beats arrive.
    pub is_alive: bool,
    /// How long ago the last one arrived.
    pub age: Duration,
}

/// What a command needs of a worker besides room.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandNeeds {
    /// Keys of its skills.
    pub(crate) skills: Vec<String>,
    /// The key of its packages.
    pub(crate) layer: Option<String>,
}

/// Workers that are not to get a command, as (id, boot): a restarted one may.
pub(crate) type ExcludedWorkers = HashSet<(String, String)>;

/// The workers, and who waits for them.
#[derive(Debug)]
pub(crate) struct WorkerRegistry {
    workers: Mutex<HashMap<String, KnownWorker>>,
    pub(crate) line: WaitLine,
    /// Since when it exists.
    pub(crate) since: Instant,
}

/// A command at a worker, counted until dropped.
#[derive(Debug)]
pub(crate) struct PlacedCommand {
    registry: Arc<WorkerRegistry>,
    pub(crate) worker: String,
    pub(crate) boot: String,
    /// Whether there is room for another one when this ends: not if it was refused.
    frees_room: bool,
}

impl WorkerRegistry {
    pub(crate) fn new(waiting: usize) -> Self {
        Self {
            workers: Mutex::default(),
            line: WaitLine::new(waiting),
            since: Instant::now(),
        }
    }

    /// A worker has announced itself, or has answered what it is.
    pub(crate) fn observe(&self, beat: WorkerBeat) {
        let now = Instant::now();
        // The id becomes part of subjects.
        if subject::token(&beat.id).is_err() {
            return;
        }
        let Some(beat) = known_worker::within_limits(beat) else {
            return;
        };
        let mut workers = self.lock();
        workers.retain(|_, worker| now.duration_since(worker.seen) < SHOWN_FOR);
        let room = if let Some(known) = workers.get_mut(&beat.id) {
            known.update(beat, now)
        } else if workers.len() < MAX_WORKERS {
            let new = KnownWorker::new(beat, now);
            let room = new.room();
            workers.insert(new.beat.id.clone(), new);
            room
        } else {
            0
        };
        drop(workers);
        self.line.wake(room);
    }

    /// Whether a beat is that of a worker which has answered at its own subject: it names the start
    /// of the process that only this worker and the gateways know.
    pub(crate) fn knows(&self, beat: &WorkerBeat) -> bool {
        let workers = self.lock();
        let known = workers.get(&beat.id);
        known.is_some_and(|known| known.beat.boot == beat.boot)
    }

    /// Chooses a worker for a command.
    pub(crate) fn place(
        self: &Arc<Self>,
        last: Option<&str>,
        excluded: &ExcludedWorkers,
        needs: &CommandNeeds,
    ) -> Option<PlacedCommand> {
        let now = Instant::now();
        let mut workers = self.lock();
        let usable = workers.values().filter(|worker| {
            let name = (worker.beat.id.clone(), worker.beat.boot.clone());
            worker.is_usable(now) && !excluded.contains(&name)
        });
        let candidates: Vec<WorkerCandidate> =
            usable.map(|worker| worker.candidate(needs)).collect();
        let chosen = placement::choose(&candidates, last, |below| fastrand::usize(..below))?;
        let worker = workers.get_mut(&chosen.id)?;
        worker.own += 1;
        Some(PlacedCommand {
            registry: Arc::clone(self),
            worker: chosen.id.clone(),
            boot: worker.beat.boot.clone(),
            frees_room: false,
        })
    }

    /// Counts a command at this worker, if it is alive.
    pub(crate) fn place_at(self: &Arc<Self>, id: &str) -> Option<PlacedCommand> {
        let now = Instant::now();
        let mut workers = self.lock();
        let worker = workers.get_mut(id).filter(|worker| worker.is_alive(now))?;
        worker.own += 1;
        Some(PlacedCommand {
            registry: Arc::clone(self),
            worker: id.to_owned(),
            boot: worker.beat.boot.clone(),
            frees_room: false,
        })
    }

    /// Whether this start of a worker is alive.
    pub(crate) fn is_alive(&self, id: &str, boot: &str) -> bool {
        let now = Instant::now();
        let workers = self.lock();
        let known = workers.get(id).filter(|worker| worker.beat.boot == boot);
        known.is_some_and(|worker| worker.is_alive(now))
    }

    /// Whether a worker was started again since.
    pub(crate) fn is_restarted(&self, id: &str, boot: &str) -> bool {
        let workers = self.lock();
        workers
            .get(id)
            .is_some_and(|worker| worker.beat.boot != boot)
    }

    /// A worker takes no commands, until its next beat says otherwise.
    pub(crate) fn pause(&self, id: &str) {
        if let Some(worker) = self.lock().get_mut(id) {
            worker.is_paused = true;
        }
    }

    /// Ids of the workers that are alive.
    pub(crate) fn alive(&self) -> Vec<String> {
        let now = Instant::now();
        let workers = self.lock();
        let alive = workers.values().filter(|worker| worker.is_alive(now));
        alive.map(|worker| worker.beat.id.clone()).collect()
    }

    /// How many workers are alive, and how many of those are draining.
    pub(crate) fn count(&self) -> (usize, usize) {
        let now = Instant::now();
        let workers = self.lock();
        let alive = workers.values().filter(|worker| worker.is_alive(now));
        alive.fold((0, 0), |(all, draining), worker| {
            (all + 1, draining + usize::from(worker.beat.draining))
        })
    }

    /// All workers that were seen lately, by id.
    pub(crate) fn status(&self) -> Vec<WorkerStatus> {
        let now = Instant::now();
        let workers = self.lock();
        let mut all: Vec<_> = workers.values().map(|worker| worker.status(now)).collect();
        drop(workers);
        all.retain(|worker| worker.age < SHOWN_FOR);
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, KnownWorker>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PlacedCommand {
    /// The worker has ended the command, and can take another one.
    pub(crate) fn set_ended(&mut self) {
        self.frees_room = true;
    }

    /// The worker's id and start.
    pub(crate) fn name(&self) -> (String, String) {
        (self.worker.clone(), self.boot.clone())
    }
}

impl Drop for PlacedCommand {
    fn drop(&mut self) {
        let mut workers = self.registry.lock();
        if let Some(worker) = workers.get_mut(&self.worker)
            && worker.beat.boot == self.boot
        {
            worker.own = worker.own.saturating_sub(1);
        }
        drop(workers);
        self.registry.line.wake(usize::from(self.frees_room));
    }
}

/// Whether a beat of this age is that of a worker which is alive.
fn is_recent(age: Duration) -> bool {
    age < SILENCE_TIMEOUT
}

#[cfg(test)]
mod tests;
