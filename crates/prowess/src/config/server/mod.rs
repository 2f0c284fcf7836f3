//! `[server]`: settings of the HTTP server, and the data directory.
//!
//! The section is read in every build, so that one file serves all of them; `check` needs
//! the feature `server`.

#[cfg(feature = "server")]
pub(super) mod check;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ConfigError;
use super::overrides::ConfigOverrides;

pub(super) const KEYS: &[&str] = &[
    "listen",
    "data_dir",
    "master_key",
    "index_tenant",
    "skills_provider",
    "file_bytes",
    "request_bytes",
    "uploads",
    "body_bytes_in_flight",
    "min_body_rate",
    "requests_per_tenant",
    "connections",
    "connections_per_address",
    "head_seconds",
    "idle_seconds",
    "grace_seconds",
    "ping_seconds",
    "responses_days",
    "upstream_models",
    "realtime",
    "console",
];

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Server")]
pub(super) struct ServerToml {
    /// Address and port to listen on.
    listen: Option<String>,
    /// Data directory (database, files, sandboxes).
    #[serde(deserialize_with = "super::paths::deserialize")]
    data_dir: Option<PathBuf>,
    /// Master key, with all permissions: `env:NAME`, `file:PATH` or the key itself.
    master_key: Option<String>,
    /// Tenant whose skills the public discovery index lists.
    index_tenant: Option<String>,
    /// Default target of `/v1/skills`: `prowess` or `anthropic`.
    skills_provider: Option<String>,
    /// Maximum size of an uploaded file in bytes.
    file_bytes: Option<u64>,
    /// Maximum size of a model request in bytes.
    request_bytes: Option<usize>,
    /// Maximum concurrent skill uploads, half of them per tenant; as many skill downloads and
    /// four times as many file uploads are allowed.
    uploads: Option<usize>,
    /// Maximum bytes of request bodies in memory, half of them per tenant; default 512 MiB. A
    /// body that does not fit waits a few seconds and is then refused.
    body_bytes_in_flight: Option<usize>,
    /// Minimum rate of a request body in bytes per second, checked every 30 seconds after the
    /// first 30; 0 for none, default 4096.
    min_body_rate: Option<u64>,
    /// Maximum concurrent requests of a tenant's keys; default: half of `connections`. The
    /// master key has no limit.
    requests_per_tenant: Option<usize>,
    /// Maximum connections. Above that, a new connection replaces an unused or idle one of the
    /// address with the most; if all have active requests, it is refused with a retry hint.
    connections: Option<usize>,
    /// Maximum connections of one address (IPv4) or /64 network (IPv6); default: three
    /// quarters of `connections`. Behind a proxy all connections have its address: set this
    /// to the value of `connections`.
    connections_per_address: Option<usize>,
    /// Timeout for the first request head of a connection in seconds.
    head_seconds: Option<u64>,
    /// Idle timeout of a connection between requests, and of a client that does not read its
    /// response, in seconds.
    idle_seconds: Option<u64>,
    /// Seconds that active requests get to finish at shutdown.
    grace_seconds: Option<u64>,
    /// Seconds of upstream silence before a keep-alive ping in a translated stream; 0 for
    /// never.
    ping_seconds: Option<u64>,
    /// Days that responses of `/v1/responses` are stored.
    responses_days: Option<u64>,
    /// Whether `/v1/models` includes the models that providers list.
    upstream_models: Option<bool>,
    /// Whether threads that serve requests have real-time priority over sandboxed commands,
    /// where the system permits it; default true.
    realtime: Option<bool>,
    /// Whether browsers get the web console, at `/console`; default true.
    console: Option<bool>,
}

/// The configured folder, or the default folder for the user's data.
pub(super) fn data_dir(
    raw: &ServerToml,
    overrides: &ConfigOverrides,
) -> Result<PathBuf, ConfigError> {
    if let Some(folder) = overrides.data_dir.as_ref().or(raw.data_dir.as_ref()) {
        return Ok(folder.clone());
    }
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let data = set("XDG_DATA_HOME").map(PathBuf::from);
    let home = || set("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let data = data.or_else(home).ok_or_else(|| {
        let reason = "HOME is not set; set the data directory with --data-dir";
        ConfigError::invalid("server.data_dir", reason)
    })?;
    Ok(data.join("prowess"))
}
