//! How commands get to workers: the way to them, what is known of them, and how long to wait.

use std::sync::Arc;
use std::time::Duration;

use prowess_sandbox::Error;

use super::link::WorkerLink;
use crate::registry::WorkerRegistry;

/// When to try again, if there is no worker or none has room.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// How commands get to workers.
#[derive(Debug, Clone)]
pub(crate) struct Dispatcher {
    pub(crate) link: WorkerLink,
    pub(crate) registry: Arc<WorkerRegistry>,
    /// How long a command waits for a worker.
    pub(crate) wait: Duration,
}

impl Dispatcher {
    /// Why there is no worker for a command.
    fn shortage(&self) -> String {
        if !self.link.bus.is_connected() {
            return "the message bus is not connected".to_owned();
        }
        match self.registry.count() {
            (0, _) => "none is connected".to_owned(),
            (all, draining) if all == draining => format!("all {all} are draining"),
            (all, _) => format!("all {all} are busy"),
        }
    }

    /// The error of a command that has waited as long as it may.
    pub(super) fn no_worker(&self) -> Error {
        no_worker(self.shortage())
    }

    /// The error of a command that another gateway sends.
    pub(super) fn leaving(&self) -> Error {
        no_worker("the gateway stops, and another one continues the run".to_owned())
    }

    /// The error of a command that cannot wait.
    pub(super) fn line_full(&self) -> Error {
        no_worker("too many commands wait for one".to_owned())
    }
}

fn no_worker(why: String) -> Error {
    Error::NoWorker {
        why,
        retry_after: RETRY_AFTER,
    }
}
