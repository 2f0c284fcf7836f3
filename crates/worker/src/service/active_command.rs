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
    /// Reply subjects, the newest last.
    listeners: Mutex<Vec<String>>,
    new_listener: Notify,
    stop: watch::Sender<Option<CommandStop>>,
    /// Whether it may have had effects.
    began: AtomicBool,
}

impl ActiveCommand {
    pub(super) fn with_listener(key: CommandKey, reply: &str) -> Self {
        Self {
            key,
            listeners: Mutex::new(vec![reply.to_owned()]),
            new_listener: Notify::new(),
            stop: watch::Sender::new(None),
            began: AtomicBool::new(false),
        }
    }

    /// Another gateway waits for it.
    pub(super) fn add_listener(&self, reply: &str) {
        let mut listeners = self.lock();
        listeners.retain(|known| known != reply);
        listeners.push(reply.to_owned());
        let above = listeners.len().saturating_sub(MAX_LISTENERS);
        listeners.drain(..above);
        drop(listeners);
        self.new_listener.notify_waiters();
    }

    /// Everybody who waits for it.
    pub(super) fn listeners(&self) -> Vec<String> {
        self.lock().clone()
    }

    /// Who came last: the gateway that is most likely alive.
    pub(super) fn newest_listener(&self) -> Option<String> {
        self.lock().last().cloned()
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

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
