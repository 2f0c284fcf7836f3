//! A worker: it announces itself, and runs commands of gateways in this host's sandbox.
//!
//! The truth about a container is in the gateways' store. A worker has a copy, labelled with the
//! digest of its files: before a command the copy is made equal to the digest that the gateway
//! names, and afterwards the worker reports what changed. Labels and results are in memory only,
//! so a worker that starts again begins without copies.
//!
//! | module | owns |
//! |---|---|
//! | `settings`, `error` | the operator's settings; why a worker cannot start |
//! | `state` | what all tasks of a worker share, and sending replies |
//! | `requests` | receiving requests and beginning what they want |
//! | `check` | whether a request is valid |
//! | `commands` | which commands are active, and results that are kept |
//! | `active_command` | one active command: who waits for it, and ending it |
//! | `failure` | why a command did not run |
//! | `exec` | the life of a command |
//! | `observer` | what is told of a command that has ended |
//! | `output` | running it, and its output while it runs |
//! | `copies` | copies of containers, and their labels |
//! | `prepare` | making the copy of a container ready: skills, packages |
//! | `restore` | making the files of a copy those that the gateway names |
//! | `skills` | files of skills, by digest |
//! | `asking` | requesting something of a gateway |
//! | `contents` | contents by digest: cache, download, upload |
//! | `provide` | getting into the cache what a command needs |
//! | `result`, `kept_result` | what a command changed; a result in memory |
//! | `deliver` | uploading a result and sending it |
//! | `layer` | packages that a gateway wants installed |
//! | `beats` | announcements, and what is done regularly |
//! | `recent_keys` | skills and packages that are here |
//! | `folder` | the state folder |
//!
//! It contains no store, and does not know who connects the bus.

mod active_command;
mod asking;
mod beats;
mod check;
mod commands;
mod contents;
mod copies;
mod deliver;
mod error;
mod exec;
mod failure;
mod folder;
mod kept_result;
mod layer;
mod observer;
mod output;
mod prepare;
mod provide;
mod recent_keys;
mod requests;
mod restore;
mod result;
mod settings;
mod skills;
mod state;

pub use error::WorkerError;
pub use observer::{CommandObserver, ObservedCommand};
pub use settings::WorkerSettings;

use crate::protocol::{WorkerBeat, requests_subject};
use active_command::CommandStop;
use folder::StateFolder;
use prowess_bus::{Bus, subject};
use prowess_sandbox::Sandbox;
use state::WorkerState;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

/// How long commands that were ended may take to announce it.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// A running worker. Dropping it ends everything at once, without a word to the gateways, as
/// the death of the process would.
#[derive(Debug)]
pub struct WorkerService {
    state: Arc<WorkerState>,
    _tasks: [AbortOnDropHandle<()>; 2],
    _folder: StateFolder,
}

impl WorkerService {
    /// Removes what an earlier start left behind, and begins to announce itself and to accept
    /// requests. The sandbox must be this worker's alone.
    ///
    /// # Errors
    /// When the settings' id is not valid, the folder is in use, or the bus refuses.
    pub async fn start(
        bus: Bus,
        sandbox: Sandbox,
        settings: WorkerSettings,
    ) -> Result<Self, WorkerError> {
        subject::token(&settings.id)?;
        subject::check(&settings.namespace)?;
        let folder = StateFolder::open(&settings.folder)?;
        for container in sandbox.containers() {
            sandbox.destroy(&container.owner, &container.id).await?;
        }
        let requests = requests_subject(&settings.namespace, &settings.id);
        let requests = bus.subscribe(&requests).await?;
        let state = Arc::new(WorkerState::new(bus, sandbox, settings, &folder)?);
        let received = tokio::spawn(requests::receive(Arc::clone(&state), requests));
        let regular = tokio::spawn(beats::announce(Arc::clone(&state)));
        Ok(Self {
            state,
            _tasks: [received, regular].map(AbortOnDropHandle::new),
            _folder: folder,
        })
    }

    /// What this worker announces.
    #[must_use]
    pub fn beat(&self) -> WorkerBeat {
        self.state.beat()
    }

    /// Accepts no further commands, and waits until those it has are done and delivered, at
    /// most as long as the settings allow. Ends the rest.
    pub async fn drain(&self) {
        self.state.start_draining();
        self.state.publish_beat().await;
        let limit = self.state.settings.drain_timeout;
        if tokio::time::timeout(limit, self.state.idle())
            .await
            .is_err()
        {
            tracing::warn!("commands did not end in time, and are ended now");
            self.state.commands().stop_all(CommandStop::Stopped);
            // Whoever is not told notices the silence.
            let _ = tokio::time::timeout(STOP_TIMEOUT, self.state.idle()).await;
        }
        if let Err(error) = self.state.bus.flush().await {
            tracing::warn!(%error, "last messages may not have been sent");
        }
    }
}
