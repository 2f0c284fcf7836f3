//! The operator's settings for all sandboxes.

use crate::egress::{Dial, SystemDial};
use crate::packages::{NpmRegistry, PackageIndex};
use crate::runtimes::RuntimeSource;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The backend that runs commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum BackendKind {
    /// The Prowess launcher on this host's kernel.
    #[default]
    Native,
    /// A Docker daemon.
    Docker(DockerSettings),
}

/// The daemon and the image of the Docker backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DockerSettings {
    /// The daemon's socket.
    pub socket: PathBuf,
    /// The image to run commands in. It must exist locally: images are never pulled.
    pub image: String,
}

impl Default for DockerSettings {
    fn default() -> Self {
        Self {
            socket: "/var/run/docker.sock".into(),
            image: "python:3-slim".into(),
        }
    }
}

/// Settings of the sandbox.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// The backend that runs commands.
    pub backend: BackendKind,
    /// The folder for containers, skills and layers. Created if missing, accessible only
    /// to the server.
    pub folder: PathBuf,
    /// The program to start as launcher: any that this crate is linked into, because the
    /// launcher takes over before its `main`. By default the current program.
    pub launcher: PathBuf,
    /// The runtime (python3, bash, libraries); by default the host's own.
    pub runtime: RuntimeSource,
    /// A delegated control group to create groups in; by default the server's own.
    pub cgroup: Option<String>,
    /// Run even if the host lacks an optional layer; every report then names it.
    pub allow_reduced: bool,
    /// Commands that run at once.
    pub running: usize,
    /// Commands that wait before further ones are refused as busy.
    pub waiting: usize,
    /// Commands that one tenant runs at once; by default one less than
    /// [`running`](Self::running), so that other tenants are not blocked.
    pub commands_per_tenant: Option<usize>,
    /// Commands of one tenant that wait; by default all of [`waiting`](Self::waiting),
    /// because a tenant with fewer waiting commands displaces one of a tenant with more.
    pub waiting_per_tenant: Option<usize>,
    /// Containers of one tenant before its least recently used one is evicted. Every
    /// conversation has one for [`container_idle`](Self::container_idle), so a busy server
    /// with a single tenant has thousands. The limits on bytes apply independently.
    pub containers_per_tenant: usize,
    /// Sandboxes to keep provisioned, each with a warm Python interpreter; 0 for none.
    pub warm: usize,
    /// Host user ids to run as if the server is root: none may belong to a user.
    pub host_ids: Range<u32>,
    /// How long an unused container is retained.
    pub container_idle: Duration,
    /// Maximum age of a container.
    pub container_life: Duration,
    /// The index that package layers are built from; without it there are none.
    pub packages: Option<PackageIndex>,
    /// The registry that npm packages of layers come from; without it there are none.
    pub npm_registry: Option<NpmRegistry>,
    /// Disk usage of all package layers, in bytes. Above it, the least recently used layer
    /// of the tenant with the highest usage is evicted.
    pub layer_bytes: u64,
    /// Disk usage of all unpacked skills, in bytes, with 4 KiB for each file and folder.
    /// Above it, the least recently used skills that no container names are evicted. Those
    /// that containers name stay; what does not fit beside them is refused.
    pub skill_bytes: u64,
    /// How the proxy resolves names and connects.
    pub dial: Arc<dyn Dial>,
    /// Intercept TLS to hosts that a command has a secret for, so that the secret can be
    /// inserted; without it secrets work over plain HTTP only.
    pub open_tls: bool,
    /// A file of certificates (PEM) to trust for those hosts, in addition to the system's.
    pub extra_ca_file: Option<PathBuf>,
    /// Disk usage of all containers, in bytes. Above it, tenants that use more than an
    /// equal share lose their least recently used containers.
    pub disk_bytes: u64,
    /// Disk usage of the containers of one tenant, in bytes; by default half of
    /// [`disk_bytes`](Self::disk_bytes).
    pub tenant_disk_bytes: Option<u64>,
    /// How long a container must have been idle before a new one of the same tenant may
    /// replace it. A model takes a while between two commands of one conversation, and its
    /// files must still exist then.
    pub evict_idle: Duration,
}

impl SandboxSettings {
    /// Commands that one tenant may run at once.
    pub(crate) fn max_commands_per_tenant(&self) -> usize {
        let default = self.running.saturating_sub(1);
        self.commands_per_tenant.unwrap_or(default).max(1)
    }

    /// Disk usage of the containers of one tenant, in bytes.
    pub(crate) fn max_tenant_bytes(&self) -> u64 {
        let default = self.disk_bytes / 2;
        self.tenant_disk_bytes
            .unwrap_or(default)
            .min(self.disk_bytes)
    }

    /// Defaults, with all data in `folder`.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            backend: BackendKind::Native,
            folder: folder.into(),
            launcher: "/proc/self/exe".into(),
            runtime: RuntimeSource::Folder("/".into()),
            cgroup: None,
            allow_reduced: false,
            running: cores * 4,
            waiting: 256,
            commands_per_tenant: None,
            waiting_per_tenant: None,
            containers_per_tenant: 10_000,
            warm: 4,
            // Above the ids that systemd assigns and below what the kernel treats as signed.
            host_ids: 1_900_000_000..2_000_000_000,
            container_idle: Duration::from_secs(20 * 60),
            container_life: Duration::from_secs(24 * 60 * 60),
            packages: None,
            npm_registry: None,
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
        // Eight new conversations per second, each with a container until it expires.
        let live = 8 * settings.container_idle.as_secs();
        assert!(settings.containers_per_tenant as u64 >= live);
        assert!(settings.evict_idle >= Duration::from_secs(60));
        assert!(settings.evict_idle < settings.container_idle);
    }
}
