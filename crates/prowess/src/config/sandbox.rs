//! `[sandbox]`: where and within what bounds commands run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use prowess_sandbox::{
    BackendKind, DockerSettings, DomainRule, NpmRegistry, PackageIndex, RuntimeSource,
    SandboxLimits, SandboxSettings,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ConfigError;

pub(super) const KEYS: &[&str] = &[
    "backend",
    "reduced",
    "runtime",
    "cgroup",
    "docker_socket",
    "docker_image",
    "running",
    "waiting",
    "commands_per_tenant",
    "waiting_per_tenant",
    "containers_per_tenant",
    "warm",
    "idle_seconds",
    "life_seconds",
    "disk_bytes",
    "tenant_disk_bytes",
    "timeout_seconds",
    "memory_bytes",
    "processes",
    "cpu_millis",
    "data_bytes",
    "container_entries",
    "tmp_bytes",
    "package_index",
    "package_hosts",
    "package_sources",
    "npm_registry",
    "layer_bytes",
    "skill_bytes",
    "domains",
    "open_tls",
    "extra_ca_file",
    // Earlier names of two settings, which are still read.
    "sessions_per_tenant",
    "session_entries",
];

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Sandbox")]
pub(super) struct SandboxToml {
    /// `native`, `docker` or `off`.
    backend: Option<String>,
    /// Run even if this host supports only a reduced sandbox.
    reduced: bool,
    /// What provides python3, bash and libraries: the path of a root file system, or the
    /// name of a runtime that `prowess runtime install` has installed; default: `/`, the
    /// host's own.
    #[serde(deserialize_with = "super::paths::deserialize")]
    runtime: Option<PathBuf>,
    /// A delegated control group in which groups are created.
    cgroup: Option<String>,
    /// Socket of the Docker daemon.
    #[serde(deserialize_with = "super::paths::deserialize")]
    docker_socket: Option<PathBuf>,
    /// Image of Docker containers. It is never pulled.
    docker_image: Option<String>,
    /// Maximum concurrent commands.
    running: Option<usize>,
    /// Maximum waiting commands.
    waiting: Option<usize>,
    /// Maximum concurrent commands of one tenant; default: one less than `running`.
    commands_per_tenant: Option<usize>,
    /// Maximum waiting commands of one tenant; default: `waiting`. When the queue is full, a
    /// command of a tenant with few replaces one of a tenant with many.
    waiting_per_tenant: Option<usize>,
    /// Maximum containers of one tenant. Above that, its least recently used one is deleted;
    /// while all are in use, a new one is refused.
    #[serde(alias = "sessions_per_tenant")]
    containers_per_tenant: Option<usize>,
    /// Prepared (warm) sandboxes; 0 for none.
    warm: Option<usize>,
    /// Seconds until an unused container expires.
    idle_seconds: Option<u64>,
    /// Maximum lifetime of a container in seconds.
    life_seconds: Option<u64>,
    /// Maximum disk space of all containers in bytes, counting 4 KiB for each file, folder
    /// and link. Above that, tenants that use more than an equal share lose their least
    /// recently used containers.
    disk_bytes: Option<u64>,
    /// Maximum disk space of one tenant's containers in bytes; default: half of
    /// `disk_bytes`.
    tenant_disk_bytes: Option<u64>,
    /// Timeout of a command in seconds.
    timeout_seconds: Option<u64>,
    /// Memory limit of a command in bytes.
    memory_bytes: Option<u64>,
    /// Maximum processes and threads of a command.
    processes: Option<u64>,
    /// CPU limit of a command, in thousandths of one core.
    cpu_millis: Option<u64>,
    /// Maximum size of a container's files in bytes.
    data_bytes: Option<u64>,
    /// Maximum files, folders and links of a container.
    #[serde(alias = "session_entries")]
    container_entries: Option<u64>,
    /// Size of `/tmp` in bytes.
    tmp_bytes: Option<u64>,
    /// Index for the packages that skills declare; without it none are installed.
    package_index: Option<String>,
    /// Further hosts from which the index and the npm registry serve files.
    package_hosts: Vec<String>,
    /// Build packages that have no wheel. This runs their code, in a sandbox.
    package_sources: bool,
    /// Registry for the npm packages that skills declare; without it none are installed.
    npm_registry: Option<String>,
    /// Maximum disk space of installed packages in bytes. Above that, the least recently used
    /// are deleted, those of the tenant with the most first.
    layer_bytes: Option<u64>,
    /// Maximum disk space of unpacked skills in bytes, counting 4 KiB for each file and
    /// folder. Above that, the least recently used that no container mounts are deleted.
    skill_bytes: Option<u64>,
    /// Domains that a request may allow its code to reach, such as `example.com` or
    /// `*.example.com`; default: none.
    domains: Vec<String>,
    /// Intercept TLS to hosts for which a request has a secret, to insert the secret into
    /// headers; default true. If false, secrets work over plain HTTP only.
    open_tls: Option<bool>,
    /// File of additional CA certificates (PEM) to trust for those hosts.
    #[serde(deserialize_with = "super::paths::deserialize")]
    extra_ca_file: Option<PathBuf>,
}

/// The configured backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

pub(super) fn check(raw: SandboxToml, data_dir: &Path) -> Result<SandboxConfig, ConfigError> {
    let backend = parse_backend(raw.backend.as_deref())?;
    let docker = DockerSettings::default();
    Ok(SandboxConfig {
        backend,
        limits: sandbox_limits(&raw)?,
        domains: parse_domains(&raw.domains)?,
        docker: DockerSettings {
            socket: raw.docker_socket.clone().unwrap_or(docker.socket),
            image: raw.docker_image.clone().unwrap_or(docker.image),
        },
        settings: sandbox_settings(raw, data_dir)?,
    })
}

fn parse_backend(text: Option<&str>) -> Result<BackendSetting, ConfigError> {
    match text {
        None | Some("native") => Ok(BackendSetting::Native),
        Some("docker") => Ok(BackendSetting::Docker),
        Some("off") => Ok(BackendSetting::Off),
        Some(other) => Err(ConfigError::invalid(
            "sandbox.backend",
            format!("`{other}` is not one of native, docker, off"),
        )),
    }
}

fn sandbox_settings(raw: SandboxToml, data_dir: &Path) -> Result<SandboxSettings, ConfigError> {
    let packages = package_index(&raw)?;
    let npm_registry = npm_registry(&raw)?;
    let runtime = raw.runtime.as_deref().map(RuntimeSource::parse).transpose();
    let runtime =
        runtime.map_err(|error| ConfigError::invalid("sandbox.runtime", error.to_string()))?;
    let base = SandboxSettings::new(data_dir.join("sandbox"));
    let counts = [
        ("sandbox.running", raw.running),
        ("sandbox.commands_per_tenant", raw.commands_per_tenant),
        ("sandbox.containers_per_tenant", raw.containers_per_tenant),
    ];
    if let Some((setting, _)) = counts.iter().find(|(_, count)| *count == Some(0)) {
        let reason = "nothing could run; use backend = \"off\" to disable the sandbox";
        return Err(ConfigError::invalid(*setting, reason));
    }
    let seconds = |given: Option<u64>, base| given.map_or(base, Duration::from_secs);
    Ok(SandboxSettings {
        runtime: runtime.unwrap_or(base.runtime),
        cgroup: raw.cgroup,
        allow_reduced: raw.reduced,
        running: raw.running.unwrap_or(base.running),
        waiting: raw.waiting.unwrap_or(base.waiting),
        commands_per_tenant: raw.commands_per_tenant,
        waiting_per_tenant: raw.waiting_per_tenant,
        containers_per_tenant: raw
            .containers_per_tenant
            .unwrap_or(base.containers_per_tenant),
        warm: raw.warm.unwrap_or(base.warm),
        container_idle: seconds(raw.idle_seconds, base.container_idle),
        container_life: seconds(raw.life_seconds, base.container_life),
        disk_bytes: raw.disk_bytes.unwrap_or(base.disk_bytes),
        tenant_disk_bytes: raw.tenant_disk_bytes,
        open_tls: raw.open_tls.unwrap_or(base.open_tls),
        extra_ca_file: raw.extra_ca_file,
        packages,
        npm_registry,
        layer_bytes: raw.layer_bytes.unwrap_or(base.layer_bytes),
        skill_bytes: raw.skill_bytes.unwrap_or(base.skill_bytes),
        ..base
    })
}

fn sandbox_limits(raw: &SandboxToml) -> Result<SandboxLimits, ConfigError> {
    let base = SandboxLimits::default();
    let given = [
        ("sandbox.timeout_seconds", raw.timeout_seconds),
        ("sandbox.memory_bytes", raw.memory_bytes),
        ("sandbox.processes", raw.processes),
        ("sandbox.cpu_millis", raw.cpu_millis),
        ("sandbox.data_bytes", raw.data_bytes),
        ("sandbox.container_entries", raw.container_entries),
        ("sandbox.tmp_bytes", raw.tmp_bytes),
    ];
    if let Some((setting, _)) = given.iter().find(|(_, value)| *value == Some(0)) {
        return Err(ConfigError::invalid(*setting, "no command can run with 0"));
    }
    require_at_least(
        "sandbox.memory_bytes",
        raw.memory_bytes,
        SandboxLimits::MIN_MEMORY_BYTES,
    )?;
    require_at_least(
        "sandbox.cpu_millis",
        raw.cpu_millis,
        SandboxLimits::MIN_CPU_MILLIS,
    )?;
    Ok(SandboxLimits {
        timeout: raw
            .timeout_seconds
            .map_or(base.timeout, Duration::from_secs),
        memory: raw.memory_bytes.unwrap_or(base.memory),
        processes: raw.processes.unwrap_or(base.processes),
        cpu_millis: raw.cpu_millis.unwrap_or(base.cpu_millis),
        data_bytes: raw.data_bytes.unwrap_or(base.data_bytes),
        container_entries: raw.container_entries.unwrap_or(base.container_entries),
        tmp_bytes: raw.tmp_bytes.unwrap_or(base.tmp_bytes),
        ..base
    })
}

fn require_at_least(
    setting: &'static str,
    given: Option<u64>,
    least: u64,
) -> Result<(), ConfigError> {
    match given.filter(|given| *given < least) {
        None => Ok(()),
        Some(less) => {
            let reason = format!("no command can run with {less}; give at least {least}");
            Err(ConfigError::invalid(setting, reason))
        }
    }
}

fn parse_domains(written: &[String]) -> Result<Vec<DomainRule>, ConfigError> {
    let rule = |text: &String| {
        let rule = text.parse::<DomainRule>();
        rule.map_err(|error| ConfigError::invalid("sandbox.domains", error.to_string()))
    };
    written.iter().map(rule).collect()
}

fn package_index(raw: &SandboxToml) -> Result<Option<PackageIndex>, ConfigError> {
    let Some(url) = &raw.package_index else {
        return Ok(None);
    };
    let what = "a package index, for instance https://host/simple";
    Ok(Some(PackageIndex {
        url: url.clone(),
        hosts: package_hosts(raw, "sandbox.package_index", url, what)?,
        allow_source: raw.package_sources,
    }))
}

fn npm_registry(raw: &SandboxToml) -> Result<Option<NpmRegistry>, ConfigError> {
    let Some(url) = &raw.npm_registry else {
        return Ok(None);
    };
    let what = "an npm registry, for instance https://host/npm";
    Ok(Some(NpmRegistry {
        url: url.clone(),
        hosts: package_hosts(raw, "sandbox.npm_registry", url, what)?,
    }))
}

/// The hosts that a build may reach for packages from this address.
fn package_hosts(
    raw: &SandboxToml,
    setting: &'static str,
    url: &str,
    what: &str,
) -> Result<Vec<DomainRule>, ConfigError> {
    let bad =
        |setting, text: &str, why: &str| ConfigError::invalid(setting, format!("`{text}` {why}"));
    let rest = url.strip_prefix("https://").or(url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', ':']).next());
    let host = host.filter(|host| !host.is_empty());
    let host = host.ok_or_else(|| bad(setting, url, &format!("is not the address of {what}")))?;
    let rule = |host: &str| {
        let why = "is not the name of a host";
        let rule = host.parse::<DomainRule>();
        rule.map_err(|_| bad("sandbox.package_hosts", host, why))
    };
    let hosts = std::iter::once(host).chain(raw.package_hosts.iter().map(String::as_str));
    hosts.map(rule).collect()
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, ConfigOverrides};
    use prowess_sandbox::RuntimeSource;
    use std::path::Path;

    fn read(text: &str) -> Result<super::SandboxConfig, String> {
        let overrides = ConfigOverrides {
            data_dir: Some("/data".into()),
            ..ConfigOverrides::default()
        };
        let text = format!("[sandbox]\n{text}\n");
        let config = Config::read(&text, Path::new(""), &overrides);
        config
            .map(|config| config.sandbox)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn commands_run_natively_and_strictly_by_default() {
        let sandbox = read("").unwrap();
        assert_eq!(sandbox.backend, super::BackendSetting::Native);
        let settings = sandbox.settings(sandbox.backend).unwrap();
        assert!(!settings.allow_reduced && settings.packages.is_none());
        assert_eq!(settings.folder, Path::new("/data/sandbox"));
        let off = read("backend = \"off\"").unwrap();
        assert!(off.settings(off.backend).is_none());
    }

    #[test]
    fn every_key_of_the_sandbox_is_read() {
        let sandbox = read(
            "backend = \"docker\"\nreduced = true\nruntime = \"/srv/root\"\ncgroup = \"mine\"\n\
             docker_socket = \"/s\"\ndocker_image = \"i\"\nrunning = 1\nwaiting = 2\nwarm = 3\n\
             commands_per_tenant = 13\nwaiting_per_tenant = 14\ncontainers_per_tenant = 15\n\
             tenant_disk_bytes = 16\ncontainer_entries = 17\nlayer_bytes = 18\nskill_bytes = 19\n\
             idle_seconds = 4\nlife_seconds = 5\ndisk_bytes = 6\ntimeout_seconds = 7\n\
             memory_bytes = 16777216\nprocesses = 9\ncpu_millis = 10\ndata_bytes = 11\ntmp_bytes = 12\n\
             package_index = \"http://index.test:8080/simple\"\npackage_hosts = [\"files.test\"]\n\
             open_tls = false\nextra_ca_file = \"/srv/ca.pem\"\n\
             package_sources = true\nnpm_registry = \"http://npm.test/\"",
        )
        .unwrap();
        insta::assert_debug_snapshot!(sandbox.limits);
        let mut settings = sandbox.settings(sandbox.backend).unwrap();
        settings.launcher = "self".into();
        insta::assert_debug_snapshot!(settings);
    }

    #[test]
    fn earlier_names_of_settings_are_still_read() {
        let sandbox = read("sessions_per_tenant = 15\nsession_entries = 17").unwrap();
        let settings = sandbox.settings(sandbox.backend).unwrap();
        assert_eq!(settings.containers_per_tenant, 15);
        assert_eq!(sandbox.limits.container_entries, 17);
    }

    #[test]
    fn a_runtime_is_named_or_a_path() {
        let runtime = |text: &str| {
            let sandbox = read(&format!("runtime = \"{text}\"")).unwrap();
            sandbox.settings(sandbox.backend).unwrap().runtime
        };
        assert!(
            matches!(runtime("full"), RuntimeSource::Installed(name) if name.as_str() == "full")
        );
        assert_eq!(runtime("./full"), RuntimeSource::Folder("./full".into()));
    }

    #[test]
    fn mistakes_in_the_sandbox_are_reported() {
        let refused = |text| read(text).unwrap_err();
        insta::assert_snapshot!(refused("backend = \"podman\""), @"sandbox.backend: `podman` is not one of native, docker, off");
        insta::assert_snapshot!(refused("bakend = \"off\""), @"line 2: `sandbox.bakend` is not a setting; did you mean `backend`?");
        insta::assert_snapshot!(refused("memory_bytes = 0"), @"sandbox.memory_bytes: no command can run with 0");
        insta::assert_snapshot!(refused("memory_bytes = 5"), @"sandbox.memory_bytes: no command can run with 5; give at least 16777216");
        insta::assert_snapshot!(refused("cpu_millis = 9"), @"sandbox.cpu_millis: no command can run with 9; give at least 10");
        insta::assert_snapshot!(refused("runtime = \"Full\""), @"sandbox.runtime: `Full` is not the name of a runtime: use small letters, digits and hyphens; a path has a slash (./Full)");
        insta::assert_snapshot!(refused("running = 0"), @r#"sandbox.running: nothing could run; use backend = "off" to disable the sandbox"#);
        insta::assert_snapshot!(refused("containers_per_tenant = 0"), @r#"sandbox.containers_per_tenant: nothing could run; use backend = "off" to disable the sandbox"#);
        insta::assert_snapshot!(refused("npm_registry = \"npm\""), @"sandbox.npm_registry: `npm` is not the address of an npm registry, for instance https://host/npm");
        insta::assert_snapshot!(refused("package_index = \"pypi\""), @"sandbox.package_index: `pypi` is not the address of a package index, for instance https://host/simple");
    }
}
