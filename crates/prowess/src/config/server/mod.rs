//! `[server]`: settings of the HTTP server, and the data directory.
//!
//! The section is read in every build, so that one file serves all of them; `check` needs
//! the feature `server`.

#[cfg(feature = "server")]
pub(super) mod check;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ConfigError;
use super::overrides::ConfigOverrides;
use super::values::{BytesSetting, Days, DurationSetting};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Server")]
pub(super) struct ServerToml {
    /// Address and port to listen on. Other addresses than loopback need a master key.
    #[schemars(extend("x-shown" = true))]
    listen: String,
    /// Data directory (database, files, sandboxes).
    #[serde(deserialize_with = "super::paths::deserialize")]
    #[schemars(extend(
        "x-shown" = true,
        "x-default" = "`prowess` in `$XDG_DATA_HOME`, else in `~/.local/share`"
    ))]
    data_dir: Option<PathBuf>,
    /// Master key, with all permissions: `env:NAME`, `file:PATH` or the key itself.
    master_key: Option<String>,
    /// Tenant whose skills the public discovery index lists.
    #[schemars(extend("x-shown" = true))]
    index_tenant: Option<String>,
    /// Default target of `/v1/skills`.
    skills_provider: SkillsTarget,
    /// Maximum size of an uploaded file.
    #[schemars(extend("x-old-names" = ["file_bytes"]))]
    file_size: BytesSetting,
    /// Maximum size of a model request.
    #[schemars(extend("x-old-names" = ["request_bytes"]))]
    request_size: BytesSetting,
    /// Maximum concurrent skill uploads, half of them per tenant; as many skill downloads and
    /// four times as many file uploads are allowed.
    uploads: usize,
    /// Maximum size of all request bodies in memory, half of it per tenant. A body that does
    /// not fit waits a few seconds and is then refused.
    #[schemars(extend("x-old-names" = ["body_bytes_in_flight"]))]
    body_memory: BytesSetting,
    /// Minimum rate of a request body per second, checked every 30 seconds after the first 30;
    /// 0 for none.
    min_body_rate: BytesSetting,
    /// Maximum concurrent requests of a tenant's keys. The master key has no limit.
    #[schemars(extend("x-default" = "half of `connections`"))]
    requests_per_tenant: Option<usize>,
    /// Maximum connections. Above that, a new connection replaces an unused or idle one of the
    /// address with the most; if all have active requests, it is refused with a retry hint.
    connections: usize,
    /// Maximum connections of one address (IPv4) or /64 network (IPv6). Behind a proxy all
    /// connections have its address: set this to the value of `connections`.
    #[schemars(extend("x-default" = "three quarters of `connections`"))]
    connections_per_address: Option<usize>,
    /// Timeout for the first request head of a connection.
    #[schemars(extend("x-old-names" = ["head_seconds"]))]
    head_timeout: DurationSetting,
    /// Idle timeout of a connection between requests, and of a client that does not read its
    /// response.
    #[schemars(extend("x-old-names" = ["idle_seconds"]))]
    idle_timeout: DurationSetting,
    /// Time that active requests get to finish at shutdown.
    #[schemars(extend("x-old-names" = ["grace_seconds"]))]
    shutdown_grace: DurationSetting,
    /// Upstream silence before a keep-alive ping in a translated stream; 0 for never.
    #[schemars(extend("x-old-names" = ["ping_seconds"]))]
    ping_interval: DurationSetting,
    /// How long stored responses, conversations and chat completions are kept.
    #[schemars(extend("x-old-names" = ["responses_days"]))]
    response_retention: Days,
    /// Whether `/v1/models` includes the models that providers list.
    upstream_models: bool,
    /// Whether threads that serve requests have real-time priority over sandboxed commands,
    /// where the system permits it.
    realtime: bool,
    /// Whether browsers get the web console, at `/console`.
    console: bool,
}

/// Where `/v1/skills` leads to.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum SkillsTarget {
    /// The skills that this server stores.
    #[serde(alias = "litellm_proxy")]
    Prowess,
    /// Anthropic's own skills.
    Anthropic,
}

impl Default for ServerToml {
    fn default() -> Self {
        ServerToml {
            listen: "127.0.0.1:4141".to_owned(),
            data_dir: None,
            master_key: None,
            index_tenant: None,
            skills_provider: SkillsTarget::Prowess,
            file_size: BytesSetting::new(500_000_000),
            request_size: BytesSetting::new(32 << 20),
            uploads: 16,
            body_memory: BytesSetting::new(512 << 20),
            min_body_rate: BytesSetting::new(4 << 10),
            requests_per_tenant: None,
            connections: 4_096,
            connections_per_address: None,
            head_timeout: DurationSetting::from_secs(15),
            idle_timeout: DurationSetting::from_secs(75),
            shutdown_grace: DurationSetting::from_secs(30),
            ping_interval: DurationSetting::from_secs(15),
            response_retention: Days::from_secs(30 * 24 * 3_600),
            upstream_models: false,
            realtime: true,
            console: true,
        }
    }
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
