//! `[worker]`: a process that runs commands for the gateways of a cluster.
//!
//! The section is read and checked in every build; using it needs the feature `cluster`.

mod check;

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::values::{BytesSetting, DurationSetting};

pub(super) use check::check;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Worker")]
pub(super) struct WorkerToml {
    /// Name of this worker, which no other has: letters, digits, `_` and `-`. Its permissions at
    /// the NATS servers are for subjects with this name.
    #[schemars(extend("x-shown" = true, "x-default" = "the host's name and a random text"))]
    id: Option<String>,
    /// Maximum concurrent commands.
    #[schemars(extend("x-default" = "`sandbox.running`"))]
    slots: Option<usize>,
    /// Maximum waiting commands; further ones are given to other workers.
    #[schemars(extend("x-default" = "`slots`"))]
    waiting: Option<usize>,
    /// Folder of its sandbox and of copies of files, which nothing else uses. Copies of
    /// containers are deleted when it starts.
    #[serde(deserialize_with = "super::paths::deserialize")]
    #[schemars(extend("x-shown" = true, "x-default" = "`worker` in the data directory"))]
    state_dir: Option<PathBuf>,
    /// Maximum disk space of copies of files and skills that may be needed again.
    cache_size: BytesSetting,
    /// How long commands may go on when it is told to stop.
    drain_timeout: DurationSetting,
}

impl Default for WorkerToml {
    fn default() -> Self {
        WorkerToml {
            id: None,
            slots: None,
            waiting: None,
            state_dir: None,
            cache_size: BytesSetting::new(2 << 30),
            drain_timeout: DurationSetting::from_secs(120),
        }
    }
}

/// The checked settings of a worker.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// Its name, if it is configured.
    pub id: Option<String>,
    /// Maximum concurrent commands, if that is configured.
    pub slots: Option<usize>,
    /// Maximum waiting commands, if that is configured.
    pub waiting: Option<usize>,
    /// Folder of its sandbox and caches.
    pub state_dir: PathBuf,
    /// Maximum size of its cache of contents.
    pub cache_bytes: u64,
    /// How long commands may go on when it is told to stop.
    pub drain_timeout: Duration,
}
