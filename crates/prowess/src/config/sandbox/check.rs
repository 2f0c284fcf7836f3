//! Checks the settings of the sandbox.

use std::path::Path;

use prowess_sandbox::{
    DockerSettings, DomainRule, NpmRegistry, PackageIndex, RuntimeSource, SandboxLimits,
    SandboxSettings,
};

use super::{SandboxConfig, SandboxToml};
use crate::config::error::ConfigError;
use crate::config::overrides::ConfigOverrides;
use crate::config::values::BytesSetting;

pub(in crate::config) fn check(
    mut raw: SandboxToml,
    data_dir: &Path,
    overrides: &ConfigOverrides,
) -> Result<SandboxConfig, ConfigError> {
    raw.reduced |= overrides.reduced;
    Ok(SandboxConfig {
        backend: raw.backend,
        limits: sandbox_limits(&raw)?,
        domains: parse_domains(&raw.domains)?,
        docker: DockerSettings {
            socket: raw.docker_socket.clone(),
            image: raw.docker_image.clone(),
        },
        settings: sandbox_settings(raw, data_dir)?,
    })
}

fn sandbox_settings(raw: SandboxToml, data_dir: &Path) -> Result<SandboxSettings, ConfigError> {
    let packages = package_index(&raw)?;
    let npm_registry = npm_registry(&raw)?;
    let runtime = RuntimeSource::parse(&raw.runtime)
        .map_err(|error| ConfigError::invalid("sandbox.runtime", error.to_string()))?;
    let base = SandboxSettings::new(data_dir.join("sandbox"));
    let counts = [
        ("sandbox.running", raw.running),
        ("sandbox.commands_per_tenant", raw.commands_per_tenant),
        (
            "sandbox.containers_per_tenant",
            Some(raw.containers_per_tenant),
        ),
    ];
    if let Some((setting, _)) = counts.iter().find(|(_, count)| *count == Some(0)) {
        let reason = "nothing could run; use backend = \"off\" to disable the sandbox";
        return Err(ConfigError::invalid(*setting, reason));
    }
    Ok(SandboxSettings {
        runtime,
        cgroup: raw.cgroup,
        allow_reduced: raw.reduced,
        running: raw.running.unwrap_or(base.running),
        waiting: raw.waiting,
        commands_per_tenant: raw.commands_per_tenant,
        waiting_per_tenant: raw.waiting_per_tenant,
        containers_per_tenant: raw.containers_per_tenant,
        warm: raw.warm,
        container_idle: raw.idle_timeout.get(),
        container_life: raw.lifetime.get(),
        disk_bytes: raw.disk_size.get(),
        tenant_disk_bytes: raw.tenant_disk_size.map(BytesSetting::get),
        open_tls: raw.open_tls,
        extra_ca_file: raw.extra_ca_file,
        packages,
        npm_registry,
        layer_bytes: raw.layers_size.get(),
        skill_bytes: raw.skills_size.get(),
        ..base
    })
}

fn sandbox_limits(raw: &SandboxToml) -> Result<SandboxLimits, ConfigError> {
    let timeout = raw.command_timeout.get();
    let given = [
        ("sandbox.command_timeout", u64::from(!timeout.is_zero())),
        ("sandbox.memory", raw.memory.get()),
        ("sandbox.processes", raw.processes),
        ("sandbox.cpu_millis", raw.cpu_millis),
        ("sandbox.data_size", raw.data_size.get()),
        ("sandbox.container_entries", raw.container_entries),
        ("sandbox.tmp_size", raw.tmp_size.get()),
    ];
    if let Some((setting, _)) = given.iter().find(|(_, value)| *value == 0) {
        return Err(ConfigError::invalid(*setting, "no command can run with 0"));
    }
    let memory = raw.memory.get();
    if memory < SandboxLimits::MIN_MEMORY_BYTES {
        let least = BytesSetting::new(SandboxLimits::MIN_MEMORY_BYTES);
        let reason = format!(
            "no command can run with {}; give at least {least}",
            raw.memory
        );
        return Err(ConfigError::invalid("sandbox.memory", reason));
    }
    let (cpu, least) = (raw.cpu_millis, SandboxLimits::MIN_CPU_MILLIS);
    if cpu < least {
        let reason = format!("no command can run with {cpu}; give at least {least}");
        return Err(ConfigError::invalid("sandbox.cpu_millis", reason));
    }
    Ok(SandboxLimits {
        timeout,
        memory,
        processes: raw.processes,
        cpu_millis: cpu,
        data_bytes: raw.data_size.get(),
        container_entries: raw.container_entries,
        tmp_bytes: raw.tmp_size.get(),
        ..SandboxLimits::default()
    })
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
