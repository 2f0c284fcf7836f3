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
pub enum BackendKind {
    /// Our own launcher on this host's kernel.
    #[default]
    Native,
    /// A Docker daemon.
    Docker(DockerSettings),
}

/// How sandboxes are made on this host.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// What runs the commands.
    pub backend: BackendKind,
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
    /// Commands that one tenant runs at once; one less than [`running`](Self::running)
    /// if not set, so that a place is free for others before long.
    pub commands_per_tenant: Option<usize>,
    /// Commands of one tenant that wait; as many as there are places if not set, for
    /// whoever has fewer waiting takes the place of one who has more.
    pub waiting_per_tenant: Option<usize>,
    /// Sessions that one tenant may have before its own least recently used one goes. Every
    /// conversation keeps one for [`session_idle`](Self::session_idle), so a busy server
    /// with a single tenant has thousands of live ones. The bounds on bytes hold
    /// whatever this number is.
    pub containers_per_tenant: usize,
    /// Sandboxes to keep ready, each with a Python interpreter waiting in it; 0 for
    /// none.
    pub warm: usize,
    /// Host user ids to run as when we are root: none of them may belong to anyone.
    pub host_ids: Range<u32>,
    /// How long a session lives without being used.
    pub container_idle: Duration,
    /// How long a session lives at most.
    pub container_life: Duration,
    /// Where package layers are built from; without it there are none.
    pub packages: Option<PackageIndex>,
    /// Bytes that all package layers may take together before one of the tenant who takes
    /// most, not used for longest, goes.
    pub layer_bytes: u64,
    /// Bytes that all unpacked skills may take together on the disk, with 4 KiB for each
    /// file and folder, before those go that no session names and that were not used for
    /// longest. Those that sessions name stay, so what does not fit beside them is refused.
    pub skill_bytes: u64,
    /// How commands with a way out reach the network.
    pub dial: Arc<dyn Dial>,
    /// Open the TLS of hosts that a command has a secret for, so that the secret can be
    /// put in; without it secrets work over plain HTTP only.
    pub open_tls: bool,
    /// A file of certificates (PEM) that may sign for those hosts, beside those the
    /// system trusts.
    pub extra_ca_file: Option<PathBuf>,
    /// Bytes that all sessions may take together on the disk. Above that, tenants that
    /// take more than an equal share lose their own least recently used sessions.
    pub disk_bytes: u64,
    /// Bytes that the sessions of one tenant may take together on the disk; half of
    /// [`disk_bytes`](Self::disk_bytes) if not set.
    pub tenant_disk_bytes: Option<u64>,
    /// How long a session must have been idle before a new one of the same tenant may
    /// take its place. A model takes a while between two commands of one conversation, whose
    /// files must still be there then.
    pub evict_idle: Duration,
}

impl SandboxSettings {
    /// Commands that one tenant may run at once.
    pub(crate) fn max_commands_per_tenant(&self) -> usize {
        let default = self.running.saturating_sub(1);
        self.commands_per_tenant.unwrap_or(default).max(1)
    }

    /// Bytes that the sessions of one tenant may take.
    pub(crate) fn max_tenant_bytes(&self) -> u64 {
        let default = self.disk_bytes / 2;
        self.tenant_disk_bytes
            .unwrap_or(default)
            .min(self.disk_bytes)
    }

    /// Defaults, with everything kept in `folder`.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            backend: BackendKind::Native,
            folder: folder.into(),
            launcher: "/proc/self/exe".into(),
            runtime: "/".into(),
            cgroup: None,
            allow_reduced: false,
            running: cores * 4,
            waiting: 256,
            commands_per_tenant: None,
            waiting_per_tenant: None,
            containers_per_tenant: 10_000,
            warm: 4,
            // Above what systemd hands out and below what the kernel treats as signed.
            host_ids: 1_900_000_000..2_000_000_000,
            container_idle: Duration::from_secs(20 * 60),
            container_life: Duration::from_secs(24 * 60 * 60),
            packages: None,
            layer_bytes: 10 << 30,
            skill_bytes: 4 << 30,
            dial: Arc::new(SystemDial),
            open_tls: true,
            extra_ca_file: None,
            disk_bytes: 20 << 30,
            tenant_disk_bytes: None,
            evict_idle: Duration::from_secs(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_server_with_one_tenant_keeps_the_containers_of_live_conversations() {
        let settings = SandboxSettings::new("/nowhere");
        // Eight new conversations each second, each with a session until it is idle for long.
        let live = 8 * settings.container_idle.as_secs();
        assert!(settings.containers_per_tenant as u64 >= live);
        assert!(settings.evict_idle >= Duration::from_secs(60));
        assert!(settings.evict_idle < settings.container_idle);
    }
}
