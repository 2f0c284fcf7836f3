//! Who reads the configuration again, and what comes of it.

use std::sync::{Arc, OnceLock};

use prowess_store::Timestamp;
use tokio::sync::{Mutex, MutexGuard};

use crate::settings::ServerSettings;

/// Problems that a message lists; of more, only their number is told.
const MAX_LISTED: usize = 50;

/// Reads the configuration of a server again.
pub trait ConfigReader: Send + Sync {
    /// Reads and checks everything. If it succeeds, the server uses the settings, and the next
    /// reading is compared with this one. It may block.
    ///
    /// # Errors
    /// Everything that is wrong, or everything that changed and needs a restart.
    fn read(&self) -> Result<ReadConfig, ReloadError>;
}

/// A configuration that was read and found valid.
#[derive(Debug)]
pub struct ReadConfig {
    /// All settings of the server.
    pub settings: ServerSettings,
    /// Where it was read, for people.
    pub source: String,
    /// The settings that were written differently before, such as `models.small.provider`.
    pub changed: Vec<String>,
}

/// A configuration that is in use now.
#[derive(Debug, Clone)]
pub struct ReloadReport {
    /// Its number, counted from 1, which is that with which the server began.
    pub generation: u64,
    /// When it was read.
    pub read_at: Timestamp,
    /// Where it was read.
    pub source: String,
    /// The settings that were written differently before.
    pub changed: Vec<String>,
}

/// Why the configuration is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReloadError {
    /// It cannot be read, or is not valid.
    #[error("the configuration is not valid, so nothing was changed: {}", list(.0))]
    Invalid(Vec<String>),
    /// Something changed that a running server cannot change.
    #[error("these settings need a restart, so nothing was changed: {}", list(.0))]
    NeedsRestart(Vec<String>),
    /// Nobody can read it again.
    #[error(
        "this server cannot read its configuration again: it was started by a program, not by \
         `prowess serve`"
    )]
    Unavailable,
}

impl ReloadError {
    /// Everything that is wrong, one by one.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        match self {
            ReloadError::Invalid(problems) | ReloadError::NeedsRestart(problems) => problems,
            ReloadError::Unavailable => &[],
        }
    }
}

fn list(problems: &[String]) -> String {
    let listed: Vec<&str> = problems
        .iter()
        .take(MAX_LISTED)
        .map(String::as_str)
        .collect();
    match problems.len().saturating_sub(MAX_LISTED) {
        0 => listed.join("; "),
        more => format!("{}; and {more} more", listed.join("; ")),
    }
}

/// The reader of a server, and the order of reloads.
#[derive(Default)]
pub(crate) struct Reloads {
    reader: OnceLock<Arc<dyn ConfigReader>>,
    one_at_a_time: Mutex<()>,
}

impl Reloads {
    /// Sets the reader, unless there is one.
    pub(crate) fn set_reader(&self, reader: Arc<dyn ConfigReader>) {
        // The first one stays: another would not know what the server uses.
        let _ = self.reader.set(reader);
    }

    pub(crate) fn reader(&self) -> Option<Arc<dyn ConfigReader>> {
        self.reader.get().cloned()
    }

    /// Waits until no other reload is in progress.
    pub(crate) async fn begin(&self) -> MutexGuard<'_, ()> {
        self.one_at_a_time.lock().await
    }
}
