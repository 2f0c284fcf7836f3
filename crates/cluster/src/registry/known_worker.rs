//! One worker: its last beat, and the commands that this gateway has there.

use prowess_worker::protocol::{PROTOCOL_VERSION, WorkerBeat};
use tokio::time::Instant;

use super::{CommandNeeds, WorkerStatus, is_recent};
use crate::placement::WorkerCandidate;

/// Keys of skills and of packages that are kept of a beat, each.
const MAX_KEYS: usize = 200;
/// Bytes of a text in a beat.
const MAX_TEXT_BYTES: usize = 200;
/// Slots that a worker can have.
const MAX_SLOTS: usize = 10_000;

/// A beat without what is more than any worker has; `None` if it cannot be that of a worker.
pub(super) fn within_limits(mut beat: WorkerBeat) -> Option<WorkerBeat> {
    let texts = [&beat.boot, &beat.version, &beat.grade];
    if texts.iter().any(|text| text.len() > MAX_TEXT_BYTES) {
        return None;
    }
    for keys in [&mut beat.skills, &mut beat.layers] {
        keys.retain(|key| key.len() <= MAX_TEXT_BYTES);
        keys.truncate(MAX_KEYS);
    }
    beat.slots = beat.slots.min(MAX_SLOTS);
    Some(beat)
}

#[derive(Debug)]
pub(super) struct KnownWorker {
    pub(super) beat: WorkerBeat,
    /// When the beat arrived.
    pub(super) seen: Instant,
    /// Commands of this gateway that are there now.
    pub(super) own: usize,
    /// How many were there when the beat arrived, and are counted in it.
    own_at_beat: usize,
    /// Whether it has refused a command since the beat.
    pub(super) is_paused: bool,
}

impl KnownWorker {
    pub(super) fn new(beat: WorkerBeat, now: Instant) -> Self {
        Self {
            beat,
            seen: now,
            own: 0,
            own_at_beat: 0,
            is_paused: false,
        }
    }

    /// Takes over a newer beat. Returns for how many commands there is room.
    pub(super) fn update(&mut self, beat: WorkerBeat, now: Instant) -> usize {
        if beat.boot != self.beat.boot {
            self.own = 0;
        }
        self.own_at_beat = self.own;
        self.beat = beat;
        self.seen = now;
        self.is_paused = false;
        self.room()
    }

    /// For how many commands there is room without waiting.
    pub(super) fn room(&self) -> usize {
        if self.beat.draining {
            return 0;
        }
        self.beat.slots.saturating_sub(self.load())
    }

    /// Commands there: those of others as of the beat, and those of this gateway as of now.
    fn load(&self) -> usize {
        let all = self.beat.running.saturating_add(self.beat.waiting);
        all.saturating_sub(self.own_at_beat)
            .saturating_add(self.own)
    }

    pub(super) fn is_alive(&self, now: Instant) -> bool {
        is_recent(now.duration_since(self.seen))
    }

    /// Whether it can get a command.
    pub(super) fn is_usable(&self, now: Instant) -> bool {
        let beat = &self.beat;
        let is_understood = beat.protocol == PROTOCOL_VERSION;
        self.is_alive(now) && is_understood && !beat.draining && !self.is_paused
    }

    pub(super) fn candidate(&self, needs: &CommandNeeds) -> WorkerCandidate {
        let beat = &self.beat;
        let skills = needs.skills.iter().filter(|key| beat.skills.contains(key));
        let layer = needs.layer.iter().filter(|key| beat.layers.contains(key));
        WorkerCandidate {
            id: beat.id.clone(),
            load: self.load(),
            slots: beat.slots,
            // Installing packages takes longer than anything else.
            cached: skills.count() + needs.skills.len().max(1) * layer.count(),
        }
    }

    pub(super) fn status(&self, now: Instant) -> WorkerStatus {
        let beat = &self.beat;
        WorkerStatus {
            id: beat.id.clone(),
            boot: beat.boot.clone(),
            version: beat.version.clone(),
            grade: beat.grade.clone(),
            running: beat.running,
            waiting: beat.waiting,
            slots: beat.slots,
            in_flight: self.own,
            free_disk_bytes: beat.free_disk_bytes,
            is_draining: beat.draining,
            is_alive: self.is_alive(now),
            age: now.duration_since(self.seen),
        }
    }
}
