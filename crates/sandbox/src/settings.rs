//! What the operator decides once, for all sandboxes.

use crate::docker::DockerSettings;
use crate::egress::{Dial, SystemDial};
use crate::packages::PackageIndex;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What runs the commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Engine {
    /// Our own launcher on this host's kernel.
    #[default]
    Native,
    /// A Docker daemon.
    Docker(DockerSettings),
}

/// How sandboxes are made on this host.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What runs the commands.
    pub engine: Engine,
    /// The folder for sessions, skills and layers. Made if it is not there, for us
    /// alone.
    pub folder: PathBuf,
    /// The program that becomes the launcher when started as one (it calls
    /// [`prowess_launcher::maybe_run`]). By default this very program.
    pub launcher: PathBuf,
    /// Where the runtime (python3, bash, libraries) is taken from: `/` is the host's.
    pub runtime: PathBuf,
    /// A control group, delegated to us, to make groups in; by default our own.
    pub cgroup: Option<String>,
    /// Run even where the host lacks a layer, which is then named in every report.
    pub allow_reduced: bool,
    /// Commands that run at once.
    pub running: usize,
    /// Commands that wait behind them before others are told "busy".
    pub waiting: usize,
    /// Sandboxes to keep ready, each with a Python interpreter waiting in it; 0 for
    /// none.
    pub warm: usize,
    /// Host user ids to run as when we are root: none of them may belong to anyone.
    pub host_ids: Range<u32>,
    /// How long a session lives without being used.
    pub session_idle: Duration,
    /// How long a session lives at most.
    pub session_life: Duration,
    /// Where package layers are built from; without it there are none.
    pub packages: Option<PackageIndex>,
    /// How commands with a way out reach the network.
    pub dial: Arc<dyn Dial>,
    /// Bytes that all sessions may take together before the least recently used goes.
    pub disk_bytes: u64,
}

impl Settings {
    /// Defaults, with everything kept in `folder`.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            engine: Engine::Native,
            folder: folder.into(),
            launcher: "/proc/self/exe".into(),
            runtime: "/".into(),
            cgroup: None,
            allow_reduced: false,
            running: cores * 4,
            waiting: 256,
            warm: 4,
            // Above what systemd hands out and below what the kernel treats as signed.
            host_ids: 1_900_000_000..2_000_000_000,
            session_idle: Duration::from_secs(20 * 60),
            session_life: Duration::from_secs(24 * 60 * 60),
            packages: None,
            dial: Arc::new(SystemDial),
            disk_bytes: 20 << 30,
        }
    }
}
