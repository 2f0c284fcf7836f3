//! `[sandbox]`: where and within what bounds commands run.

mod check;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use prowess_sandbox::{BackendKind, DockerSettings, DomainRule, SandboxLimits, SandboxSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::{BytesSetting, DurationSetting};

pub(super) use check::check;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Sandbox")]
pub(super) struct SandboxToml {
    /// Where commands run.
    backend: BackendSetting,
    /// Run even if this host supports only a reduced sandbox.
    reduced: bool,
    /// What provides python3, bash and libraries: the path of a root file system, or the
    /// name of a runtime that `prowess runtime install` has installed. `/` is the host's own.
    #[serde(deserialize_with = "super::paths::deserialize_path")]
    #[schemars(extend("x-shown" = true))]
    runtime: PathBuf,
    /// A delegated control group in which groups are created.
    #[schemars(extend("x-shown" = true))]
    cgroup: Option<String>,
    /// Socket of the Docker daemon.
    #[serde(deserialize_with = "super::paths::deserialize_path")]
    #[schemars(extend("x-shown" = true))]
    docker_socket: PathBuf,
    /// Image of Docker containers. It is never pulled.
    #[schemars(extend("x-shown" = true))]
    docker_image: String,
    /// Maximum concurrent commands.
    #[schemars(extend("x-default" = "four times the number of cores"))]
    running: Option<usize>,
    /// Maximum waiting commands.
    waiting: usize,
    /// Maximum concurrent commands of one tenant.
    #[schemars(extend("x-default" = "one less than `running`"))]
    commands_per_tenant: Option<usize>,
    /// Maximum waiting commands of one tenant. When the queue is full, a command of a tenant
    /// with few replaces one of a tenant with many.
    #[schemars(extend("x-default" = "`waiting`"))]
    waiting_per_tenant: Option<usize>,
    /// Maximum containers of one tenant. Above that, its least recently used one is deleted;
    /// while all are in use, a new one is refused.
    #[schemars(extend("x-old-names" = ["sessions_per_tenant"]))]
    containers_per_tenant: usize,
    /// Prepared (warm) sandboxes; 0 for none.
    warm: usize,
    /// Time until an unused container expires.
    #[schemars(extend("x-old-names" = ["idle_seconds"]))]
    idle_timeout: DurationSetting,
    /// Maximum lifetime of a container.
    #[schemars(extend("x-old-names" = ["life_seconds"]))]
    lifetime: DurationSetting,
    /// Maximum disk space of all containers, counting 4 KiB for each file, folder and link.
    /// Above that, tenants that use more than an equal share lose their least recently used
    /// containers.
    #[schemars(extend("x-old-names" = ["disk_bytes"]))]
    disk_size: BytesSetting,
    /// Maximum disk space of one tenant's containers.
    #[schemars(extend("x-old-names" = ["tenant_disk_bytes"], "x-default" = "half of `disk_size`"))]
    tenant_disk_size: Option<BytesSetting>,
    /// Timeout of a command.
    #[schemars(extend("x-old-names" = ["timeout_seconds"]))]
    command_timeout: DurationSetting,
    /// Memory limit of a command.
    #[schemars(extend("x-old-names" = ["memory_bytes"]))]
    memory: BytesSetting,
    /// Maximum processes and threads of a command.
    processes: u64,
    /// CPU limit of a command, in thousandths of one core.
    cpu_millis: u64,
    /// Maximum size of a container's files.
    #[schemars(extend("x-old-names" = ["data_bytes"]))]
    data_size: BytesSetting,
    /// Maximum files, folders and links of a container.
    #[schemars(extend("x-old-names" = ["session_entries"]))]
    container_entries: u64,
    /// Size of `/tmp`.
    #[schemars(extend("x-old-names" = ["tmp_bytes"]))]
    tmp_size: BytesSetting,
    /// Index for the packages that skills declare; without it none are installed.
    #[schemars(extend("x-shown" = "address"))]
    package_index: Option<String>,
    /// Further hosts from which the index and the npm registry serve files.
    #[schemars(extend("x-shown" = true))]
    package_hosts: Vec<String>,
    /// Build packages that have no wheel. This runs their code, in a sandbox.
    package_sources: bool,
    /// Registry for the npm packages that skills declare; without it none are installed.
    #[schemars(extend("x-shown" = "address"))]
    npm_registry: Option<String>,
    /// Maximum disk space of installed packages. Above that, the least recently used are
    /// deleted, those of the tenant with the most first.
    #[schemars(extend("x-old-names" = ["layer_bytes"]))]
    layers_size: BytesSetting,
    /// Maximum disk space of unpacked skills, counting 4 KiB for each file and folder. Above
    /// that, the least recently used that no container mounts are deleted.
    #[schemars(extend("x-old-names" = ["skill_bytes"]))]
    skills_size: BytesSetting,
    /// Domains that a request may allow its code to reach, such as `example.com` or
    /// `*.example.com`.
    #[schemars(extend("x-shown" = true))]
    domains: Vec<String>,
    /// Intercept TLS to hosts for which a request has a secret, to insert the secret into
    /// headers. If false, secrets work over plain HTTP only.
    open_tls: bool,
    /// File of additional CA certificates (PEM) to trust for those hosts.
    #[serde(deserialize_with = "super::paths::deserialize")]
    #[schemars(extend("x-shown" = true))]
    extra_ca_file: Option<PathBuf>,
}

impl Default for SandboxToml {
    fn default() -> Self {
        SandboxToml {
            backend: BackendSetting::Native,
            reduced: false,
            runtime: "/".into(),
            cgroup: None,
            docker_socket: "/var/run/docker.sock".into(),
            docker_image: "python:3-slim".to_owned(),
            running: None,
            waiting: 256,
            commands_per_tenant: None,
            waiting_per_tenant: None,
            containers_per_tenant: 10_000,
            warm: 4,
            idle_timeout: DurationSetting::from_secs(20 * 60),
            lifetime: DurationSetting::from_secs(24 * 3_600),
            disk_size: BytesSetting::new(20 << 30),
            tenant_disk_size: None,
            command_timeout: DurationSetting::from_secs(120),
            memory: BytesSetting::new(1 << 30),
            processes: 128,
            cpu_millis: 2_000,
            data_size: BytesSetting::new(512 << 20),
            container_entries: 50_000,
            tmp_size: BytesSetting::new(128 << 20),
            package_index: None,
            package_hosts: Vec::new(),
            package_sources: false,
            npm_registry: None,
            layers_size: BytesSetting::new(10 << 30),
            skills_size: BytesSetting::new(4 << 30),
            domains: Vec::new(),
            open_tls: true,
            extra_ca_file: None,
        }
    }
}

/// The configured backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum BackendSetting {
    /// Linux namespaces on this host.
    Native,
    /// A Docker daemon.
    Docker,
    /// No sandbox: commands are refused.
    Off,
}

/// The checked settings of the sandbox.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// The backend.
    pub backend: BackendSetting,
    /// Default limits of a container.
    pub limits: SandboxLimits,
    /// Domains that a request may allow its code to reach.
    pub domains: Vec<DomainRule>,
    docker: DockerSettings,
    settings: SandboxSettings,
}

impl SandboxConfig {
    /// Settings to open the sandbox on a backend; `None` if it is off.
    pub fn settings(&self, backend: BackendSetting) -> Option<SandboxSettings> {
        let engine = match backend {
            BackendSetting::Native => BackendKind::Native,
            BackendSetting::Docker => BackendKind::Docker(self.docker.clone()),
            BackendSetting::Off => return None,
        };
        Some(SandboxSettings {
            backend: engine,
            ..self.settings.clone()
        })
    }
}
