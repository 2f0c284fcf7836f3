//! One active command: who waits for it, and ending it.

use crate::protocol::RemoteError;
use prowess_skill::Digest;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// Gateways that can wait for one command; the oldest is dropped.
const MAX_LISTENERS: usize = 8;

/// What a second request has to agree on to attach to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandKey {
    pub(super) owner: String,
    pub(super) container: String,
    pub(super) files_digest: Option<Digest>,
}

/// A gateway that waits for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandListener {
    /// Where replies go.
    pub(super) subject: String,
    /// The epoch of its run's lease; 0 if there is none, or it is not known.
    pub(super) epoch: i64,
}

impl CommandListener {
    /// Whether a gateway with this epoch has the run now.
    pub(super) fn is_outdated_by(&self, epoch: i64) -> bool {
        self.epoch != 0 && self.epoch < epoch
    }
}

impl From<&str> for CommandListener {
    fn from(subject: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            epoch: 0,
        }
    }
}

/// Why a command is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandStop {
    /// A gateway wants that.
    Killed,
    /// No gateway waits for it.
    Abandoned,
    /// The worker stops.
    Stopped,
}

impl CommandStop {
    /// The error for those who wait.
    pub(super) fn error(self) -> RemoteError {
        let (code, message) = match self {
            Self::Killed => (RemoteError::KILLED, "the command was cancelled"),
            Self::Abandoned => (
                RemoteError::ABANDONED,
                "the command was ended because no gateway waited for it",
            ),
            Self::Stopped => (
                RemoteError::STOPPED,
                "the worker was stopped before the command had ended",
            ),
        };
        RemoteError::new(code, message)
    }
}

/// A command between its request and its end.
#[derive(Debug)]
pub(super) struct ActiveCommand {
    pub(super) key: CommandKey,
    /// The newest last; none has an outdated epoch.
    listeners: Mutex<Vec<CommandListener>>,
    new_listener: Notify,
    stop: watch::Sender<Option<CommandStop>>,
    /// Whether it may have had effects.
    began: AtomicBool,
}

impl ActiveCommand {
    pub(super) fn with_listener(key: CommandKey, listener: CommandListener) -> Self {
        Self {
            key,
            listeners: Mutex::new(vec![listener]),
            new_listener: Notify::new(),
            stop: watch::Sender::new(None),
            began: AtomicBool::new(false),
        }
    }

    /// Another gateway waits for it. Returns those that have lost the run to it, and get no
    /// further replies.
    pub(super) fn add_listener(&self, listener: CommandListener) -> Vec<String> {
        let mut listeners = self.lock();
        listeners.retain(|known| known.subject != listener.subject);
        let is_outdated = |known: &mut CommandListener| known.is_outdated_by(listener.epoch);
        let outdated = listeners.extract_if(.., is_outdated);
        let outdated = outdated.map(|known| known.subject).collect();
        listeners.push(listener);
        let above = listeners.len().saturating_sub(MAX_LISTENERS);
        listeners.drain(..above);
        drop(listeners);
        self.new_listener.notify_waiters();
        outdated
    }

    /// Everybody who waits for it.
    pub(super) fn listeners(&self) -> Vec<String> {
        let listeners = self.lock();
        let subjects = listeners.iter().map(|listener| listener.subject.clone());
        subjects.collect()
    }

    /// Who came last: the gateway that is most likely alive.
    pub(super) fn newest_listener(&self) -> Option<String> {
        let listeners = self.lock();
        listeners.last().map(|listener| listener.subject.clone())
    }

    /// Waits for another gateway.
    pub(super) async fn new_listener(&self) {
        self.new_listener.notified().await;
    }

    /// Ends it.
    pub(super) fn stop(&self, reason: CommandStop) {
        self.stop.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(reason);
            }
            first
        });
    }

    /// Waits until it is to be ended.
    pub(super) async fn stopped(&self) -> CommandStop {
        let mut stop = self.stop.subscribe();
        let reason = stop.wait_for(Option::is_some).await;
        // The sender is here, so there is always a value.
        reason
            .ok()
            .and_then(|reason| *reason)
            .unwrap_or(CommandStop::Stopped)
    }

    /// From now on it may have effects.
    pub(super) fn set_started(&self, began: bool) {
        self.began.store(began, Ordering::Relaxed);
    }

    pub(super) fn has_started(&self) -> bool {
        self.began.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<CommandListener>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
