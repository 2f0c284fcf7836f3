//! The operator's settings of a worker.

use super::observer::CommandObserver;
use crate::protocol::{BEAT_INTERVAL, KEEP_TIMEOUT, RESULT_RETENTION};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Settings of a worker. Those of its sandbox, such as limits on disk usage, are given with
/// the sandbox.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    /// Its id, unique in the cluster: 1 to 128 letters, digits, `_` and `-`. `[worker] id`; by
    /// default the host's name and a random text.
    pub id: String,
    /// The prefix of all subjects. `[cluster] namespace`.
    pub namespace: String,
    /// The folder of this worker's caches. Nothing else may use it. `[worker] state_dir`.
    pub folder: PathBuf,
    /// Commands that run at once: the sandbox's `running`. `[worker] slots`.
    pub slots: usize,
    /// Accepted commands that wait; further ones are refused as busy, so that gateways look
    /// for another worker. `[worker] waiting`; by default as many as `slots`.
    pub waiting: usize,
    /// Disk usage of contents of files and skills that may be needed again, in bytes.
    /// `[worker] cache_bytes`.
    pub cache_bytes: u64,
    /// How long a worker that is to stop lets commands finish. `[worker] drain_seconds`.
    pub drain_timeout: Duration,
    /// How often it announces itself.
    pub beat_interval: Duration,
    /// How long a command that no gateway keeps goes on.
    pub keep_timeout: Duration,
    /// How long the result of a command is kept.
    pub result_retention: Duration,
    /// How long one answer of a gateway is waited for.
    pub answer_timeout: Duration,
    /// Who is told of commands that are part of a trace.
    pub observer: Option<Arc<dyn CommandObserver>>,
}

impl WorkerSettings {
    /// Defaults, for a worker of this id with its caches in this folder.
    #[must_use]
    pub fn new(id: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let slots = cores * 4;
        Self {
            id: id.into(),
            namespace: "prowess".into(),
            folder: folder.into(),
            slots,
            waiting: slots,
            cache_bytes: 2 << 30,
            drain_timeout: Duration::from_secs(120),
            beat_interval: BEAT_INTERVAL,
            keep_timeout: KEEP_TIMEOUT,
            result_retention: RESULT_RETENTION,
            answer_timeout: Duration::from_secs(5),
            observer: None,
        }
    }
}
