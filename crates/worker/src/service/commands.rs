//! Which commands are active, and results that are kept so that a command is not repeated
//! when the gateway that wanted it has died. It has no clock: times are given.

use super::active_command::{ActiveCommand, CommandKey, CommandListener, CommandStop};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Results that are kept.
const MAX_RESULTS: usize = 1_000;

/// Bytes of kept results, as they are in memory.
const MAX_RESULT_BYTES: usize = 64 << 20;

/// All commands of a worker, with results of type `R`.
#[derive(Debug)]
pub(super) struct Commands<R> {
    entries: HashMap<String, CommandEntry<R>>,
    /// Kept results, the oldest first.
    order: BTreeMap<u64, String>,
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
enum CommandEntry<R> {
    Active {
        command: Arc<ActiveCommand>,
        /// When a gateway last wanted it.
        kept_at: Instant,
        /// The greatest of all gateways that waited for it.
        epoch: i64,
    },
    Ended {
        key: CommandKey,
        result: Arc<R>,
        ended_at: Instant,
        bytes: usize,
        place: u64,
        /// Who came last.
        newest_listener: Option<String>,
        epoch: i64,
    },
}

impl<R> CommandEntry<R> {
    fn epoch(&self) -> i64 {
        match self {
            Self::Active { epoch, .. } | Self::Ended { epoch, .. } => *epoch,
        }
    }
}

/// What is known of a command.
#[derive(Debug)]
pub(super) enum KnownCommand<R> {
    /// It is active, and the new listener was added.
    Active {
        /// The reply subjects of those that have lost the run to it.
        outdated: Vec<String>,
    },
    /// It has ended.
    Ended(Arc<R>),
    /// The id belongs to another command.
    Conflict,
    /// A gateway with a greater epoch has the run.
    RunLost,
}

impl<R> Default for Commands<R> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            order: BTreeMap::new(),
            next: 0,
            bytes: 0,
        }
    }
}

impl<R> Commands<R> {
    /// How many are active.
    pub(super) fn active(&self) -> usize {
        self.entries.len() - self.order.len()
    }

    /// Whether the owner of a command has at least so many active ones in other containers, and
    /// none in the command's own.
    pub(super) fn has_others(&self, key: &CommandKey, count: usize) -> bool {
        if self.active() < count {
            return false;
        }
        let mut others = 0;
        for entry in self.entries.values() {
            match entry {
                CommandEntry::Active { command, .. } if command.key.owner == key.owner => {
                    if command.key.container == key.container {
                        return false;
                    }
                    others += 1;
                }
                _ => {}
            }
        }
        others >= count
    }

    /// Attaches to a command of this id, if there is one.
    pub(super) fn attach(
        &mut self,
        id: &str,
        key: &CommandKey,
        listener: impl Into<CommandListener>,
        now: Instant,
    ) -> Option<KnownCommand<R>> {
        let listener = listener.into();
        let entry = self.entries.get_mut(id)?;
        // Before the key: who has lost the run must not run another command instead.
        if listener.is_outdated_by(entry.epoch()) {
            return Some(KnownCommand::RunLost);
        }
        Some(match entry {
            CommandEntry::Active {
                command,
                kept_at,
                epoch,
            } if command.key == *key => {
                *kept_at = now;
                *epoch = listener.epoch.max(*epoch);
                let outdated = command.add_listener(listener);
                KnownCommand::Active { outdated }
            }
            CommandEntry::Ended {
                key: known,
                result,
                newest_listener,
                epoch,
                ..
            } if known == key => {
                *epoch = listener.epoch.max(*epoch);
                *newest_listener = Some(listener.subject);
                KnownCommand::Ended(Arc::clone(result))
            }
            _ => KnownCommand::Conflict,
        })
    }

    /// Begins a command that [`attach`](Self::attach) did not find.
    pub(super) fn begin(
        &mut self,
        id: &str,
        key: CommandKey,
        listener: impl Into<CommandListener>,
        now: Instant,
    ) -> Arc<ActiveCommand> {
        let listener = listener.into();
        let epoch = listener.epoch;
        let command = Arc::new(ActiveCommand::with_listener(key, listener));
        let entry = CommandEntry::Active {
            command: Arc::clone(&command),
            kept_at: now,
            epoch,
        };
        self.remove(id);
        self.entries.insert(id.to_owned(), entry);
        command
    }

    /// Gateways still wait for these.
    pub(super) fn keep(&mut self, ids: &[String], now: Instant) {
        for id in ids {
            if let Some(CommandEntry::Active { kept_at, .. }) = self.entries.get_mut(id) {
                *kept_at = now;
            }
        }
    }

    /// Nobody can say which ones gateways wait for: all are kept.
    pub(super) fn keep_all(&mut self, now: Instant) {
        for entry in self.entries.values_mut() {
            if let CommandEntry::Active { kept_at, .. } = entry {
                *kept_at = now;
            }
        }
    }

    /// Ends an active command, or discards a result, unless another gateway waits for it than
    /// the one that wants this: a gateway that has lost a run may notice it late.
    pub(super) fn kill(&mut self, id: &str, listener: Option<&str>, epoch: i64) {
        let Some(entry) = self.entries.get(id) else {
            return;
        };
        let newest = match entry {
            CommandEntry::Active { command, .. } => command.newest_listener(),
            CommandEntry::Ended {
                newest_listener, ..
            } => newest_listener.clone(),
        };
        let is_lost = epoch != 0 && epoch < entry.epoch();
        let is_newer = epoch > entry.epoch();
        let is_other = listener.is_some()
            && newest
                .as_deref()
                .is_some_and(|newest| Some(newest) != listener);
        if is_lost || (is_other && !is_newer) {
            return;
        }
        match entry {
            CommandEntry::Active { command, .. } => command.stop(CommandStop::Killed),
            CommandEntry::Ended { .. } => self.remove(id),
        }
    }

    /// Ends all active commands.
    pub(super) fn stop_all(&self, reason: CommandStop) {
        for entry in self.entries.values() {
            if let CommandEntry::Active { command, .. } = entry {
                command.stop(reason);
            }
        }
    }

    /// A command has ended. Its result, of this many bytes, is kept; without one, nothing is
    /// known of the command any more.
    pub(super) fn end(&mut self, id: &str, result: Option<(Arc<R>, usize)>, now: Instant) {
        let Some(CommandEntry::Active { command, epoch, .. }) = self.entries.remove(id) else {
            return;
        };
        let Some((result, bytes)) = result.filter(|(_, bytes)| *bytes <= MAX_RESULT_BYTES) else {
            return;
        };
        let place = self.next;
        self.next += 1;
        self.bytes += bytes;
        self.order.insert(place, id.to_owned());
        let entry = CommandEntry::Ended {
            key: command.key.clone(),
            result,
            ended_at: now,
            bytes,
            place,
            newest_listener: command.newest_listener(),
            epoch,
        };
        self.entries.insert(id.to_owned(), entry);
        while self.order.len() > MAX_RESULTS || self.bytes > MAX_RESULT_BYTES {
            let Some(oldest) = self.order.values().next().cloned() else {
                break;
            };
            self.remove(&oldest);
        }
    }

    /// Discards a result that cannot be delivered any more.
    pub(super) fn discard(&mut self, id: &str) {
        if matches!(self.entries.get(id), Some(CommandEntry::Ended { .. })) {
            self.remove(id);
        }
    }

    /// Ends commands that no gateway has kept for too long, and discards old results.
    pub(super) fn expire(&mut self, now: Instant, keep_timeout: Duration, retention: Duration) {
        let is_over = |since: Instant, limit| now.saturating_duration_since(since) >= limit;
        let mut old = Vec::new();
        for (id, entry) in &self.entries {
            match entry {
                CommandEntry::Active {
                    command, kept_at, ..
                } if is_over(*kept_at, keep_timeout) => {
                    command.stop(CommandStop::Abandoned);
                }
                CommandEntry::Ended { ended_at, .. } if is_over(*ended_at, retention) => {
                    old.push(id.clone());
                }
                _ => {}
            }
        }
        for id in old {
            self.remove(&id);
        }
    }

    fn remove(&mut self, id: &str) {
        if let Some(CommandEntry::Ended { bytes, place, .. }) = self.entries.remove(id) {
            self.order.remove(&place);
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
