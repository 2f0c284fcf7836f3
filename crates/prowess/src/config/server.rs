//! `[server]`: how the server listens and answers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use prowess_provider::config::{ProviderConfig, ProviderKind};
use prowess_provider::{Env, KeySource};
use prowess_server::{
    AnthropicAccount, SecretString, ServeOptions, ServerSettings, SkillsLocation,
};
use prowess_store::TenantId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ConfigOverrides;
use super::error::ConfigError;
use super::secret;

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
];

const DEFAULT_LISTEN: &str = "127.0.0.1:4141";
const ANTHROPIC_URL: &str = "https://api.anthropic.com";
const ANTHROPIC_KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";
/// Shorter master keys can be guessed.
const MIN_MASTER_KEY_CHARS: usize = 16;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Server")]
pub(super) struct ServerToml {
    /// Address and port.
    listen: Option<String>,
    /// The folder for everything that stays.
    #[serde(deserialize_with = "super::paths::deserialize")]
    data_dir: Option<PathBuf>,
    /// The key that may do everything: `env:NAME`, `file:PATH` or the key itself.
    master_key: Option<String>,
    /// The tenant whose skills the public discovery index shows.
    index_tenant: Option<String>,
    /// Where `/v1/skills` leads when a request does not say: `prowess` or `anthropic`.
    skills_provider: Option<String>,
    /// Bytes of an uploaded file.
    file_bytes: Option<u64>,
    /// Bytes of a request to a model.
    request_bytes: Option<usize>,
    /// Skill uploads in memory at once, of which a tenant has half; as many skills may be
    /// fetched at once, and four times as many files uploaded.
    uploads: Option<usize>,
    /// Bytes of request bodies in memory at once, of which a tenant has half; 512 MiB when
    /// left out. A body that does not fit waits a few seconds and is then refused.
    body_bytes_in_flight: Option<usize>,
    /// Bytes a second that a body must come at in each half minute after its first; 0 for
    /// any. 4096 when left out.
    min_body_rate: Option<u64>,
    /// Requests with a key that a tenant may have under way at once; half of `connections`
    /// when left out. The master key may have any number.
    requests_per_tenant: Option<usize>,
    /// Connections at once. Beyond that, one never used or idle for longest is closed for
    /// each that comes, of the address that has most; if all have requests under way, who
    /// comes is told to try again.
    connections: Option<usize>,
    /// Connections of one address (IPv4) or network of 64 bits (IPv6) at once; three
    /// quarters of `connections` when left out. Behind a proxy all connections come from its
    /// address: then set it to the same as `connections`.
    connections_per_address: Option<usize>,
    /// How long a new connection may take until the head of its first request is there.
    head_seconds: Option<u64>,
    /// How long a connection may be without a request after that, and how long a client may
    /// leave an answer unread.
    idle_seconds: Option<u64>,
    /// How long requests under way may take to finish at the end.
    grace_seconds: Option<u64>,
    /// After how long a silence of a model a translated stream gives a sign of life; 0
    /// for never.
    ping_seconds: Option<u64>,
    /// How many days answers of `/v1/responses` are kept.
    responses_days: Option<u64>,
    /// Whether `/v1/models` also shows what the providers list themselves.
    upstream_models: Option<bool>,
    /// Whether the threads that answer requests go before commands while these run, where
    /// the system allows it; true by default.
    realtime: Option<bool>,
}

/// How the server listens and answers, checked.
#[derive(Debug)]
pub struct ServerConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// How it answers.
    pub settings: ServerSettings,
    /// Whether requests are scheduled before commands, where the system allows it.
    pub realtime: bool,
    /// How it treats connections.
    pub options: ServeOptions,
}

pub(super) fn check(
    raw: &ServerToml,
    overrides: &ConfigOverrides,
    providers: &[ProviderConfig],
) -> Result<ServerConfig, ConfigError> {
    let master_key = master_key(raw, overrides)?;
    let listen = listen_address(raw, overrides, master_key.is_some())?;
    let defaults = ServerSettings::default();
    let options = ServeOptions::default();
    Ok(ServerConfig {
        listen,
        realtime: raw.realtime.unwrap_or(true),
        settings: ServerSettings {
            master_key,
            index_tenant: index_tenant(raw)?,
            skills_location: skills_url_policy(raw)?,
            anthropic: anthropic_account(providers, &Env::from_process()),
            file_bytes: raw.file_bytes.unwrap_or(defaults.file_bytes),
            request_bytes: raw.request_bytes.unwrap_or(defaults.request_bytes),
            uploads: raw.uploads.unwrap_or(defaults.uploads),
            body_bytes_in_flight: raw
                .body_bytes_in_flight
                .unwrap_or(defaults.body_bytes_in_flight),
            min_body_rate: raw.min_body_rate.unwrap_or(defaults.min_body_rate),
            requests_per_tenant: raw
                .requests_per_tenant
                .unwrap_or(raw.connections.unwrap_or(options.connections) / 2),
            ping_interval: raw
                .ping_seconds
                .map_or(defaults.ping_interval, ping_interval),
            response_retention: raw.responses_days.map_or(defaults.response_retention, days),
            upstream_models: raw.upstream_models.unwrap_or(defaults.upstream_models),
            ..defaults
        },
        options: ServeOptions {
            connections: raw.connections.unwrap_or(options.connections),
            connections_per_address: raw.connections_per_address,
            head: positive_seconds("server.head_seconds", raw.head_seconds, options.head)?,
            idle: positive_seconds("server.idle_seconds", raw.idle_seconds, options.idle)?,
            grace: raw.grace_seconds.map_or(options.grace, Duration::from_secs),
            ..options
        },
    })
}

/// At least one: without any, no connection could be used.
fn positive_seconds(
    setting: &'static str,
    given: Option<u64>,
    default: Duration,
) -> Result<Duration, ConfigError> {
    match given {
        Some(0) => Err(ConfigError::invalid(setting, "must be 1 or more")),
        given => Ok(given.map_or(default, Duration::from_secs)),
    }
}

fn ping_interval(seconds: u64) -> Option<Duration> {
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

fn days(days: u64) -> Duration {
    Duration::from_secs(days.saturating_mul(24 * 3_600))
}

/// Named outright, or the usual place of the user's data.
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
        let reason = "there is no HOME to keep data in; say where with --data-dir";
        ConfigError::invalid("server.data_dir", reason)
    })?;
    Ok(data.join("prowess"))
}

fn listen_address(
    raw: &ServerToml,
    overrides: &ConfigOverrides,
    locked: bool,
) -> Result<SocketAddr, ConfigError> {
    let text = overrides.listen.as_deref().or(raw.listen.as_deref());
    let text = text.unwrap_or(DEFAULT_LISTEN);
    let address: SocketAddr = text.parse().map_err(|_| {
        let reason = format!("`{text}` is not an address and port, for instance {DEFAULT_LISTEN}");
        ConfigError::invalid("server.listen", reason)
    })?;
    if !locked && !address.ip().is_loopback() {
        let reason = format!(
            "{address} can be reached from other machines, and there is no master key: set \
             PROWESS_MASTER_KEY or server.master_key, or listen on 127.0.0.1"
        );
        return Err(ConfigError::invalid("server.listen", reason));
    }
    Ok(address)
}

fn master_key(
    raw: &ServerToml,
    overrides: &ConfigOverrides,
) -> Result<Option<SecretString>, ConfigError> {
    const SETTING: &str = "server.master_key";
    let text = overrides.master_key.as_ref().or(raw.master_key.as_ref());
    let Some(text) = text else {
        return Ok(None);
    };
    let key = secret::resolve(SETTING, text)?;
    let reason = if key.reveal().len() < MIN_MASTER_KEY_CHARS {
        "it is too short: use at least 16 characters, for instance from `openssl rand -hex 32`"
    } else if key.reveal().starts_with("sk-pw-") {
        "it must not begin with `sk-pw-`, as the keys of `prowess keys create` do"
    } else if !key.reveal().bytes().all(|b| b.is_ascii_graphic()) {
        "it holds blanks or letters outside ASCII, which no client can send"
    } else {
        return Ok(Some(key));
    };
    Err(ConfigError::invalid(SETTING, reason))
}

fn index_tenant(raw: &ServerToml) -> Result<Option<TenantId>, ConfigError> {
    let tenant = raw.index_tenant.as_ref().map(TenantId::new).transpose();
    tenant.map_err(|error| ConfigError::invalid("server.index_tenant", error.to_string()))
}

fn skills_url_policy(raw: &ServerToml) -> Result<SkillsLocation, ConfigError> {
    match raw.skills_provider.as_deref() {
        None | Some("prowess" | "litellm_proxy") => Ok(SkillsLocation::Store),
        Some("anthropic") => Ok(SkillsLocation::Anthropic),
        Some(other) => {
            let reason = format!("`{other}` is not prowess or anthropic");
            Err(ConfigError::invalid("server.skills_provider", reason))
        }
    }
}

/// The account of the provider called `anthropic`, else of the first one of that kind,
/// else of the usual variables. As for models, a key from a usual variable does not go
/// to an address that was configured.
fn anthropic_account(providers: &[ProviderConfig], env: &Env) -> Option<AnthropicAccount> {
    let default_key = || KeySource::Env(ANTHROPIC_KEY_VARIABLE.to_owned());
    let mut all = providers
        .iter()
        .filter(|provider| matches!(provider.kind, ProviderKind::Anthropic(_)));
    let named = all.clone().find(|provider| provider.name == "anthropic");
    let Some(provider) = named.or_else(|| all.next()) else {
        env.get(ANTHROPIC_KEY_VARIABLE)?;
        return Some(AnthropicAccount {
            api_key: default_key(),
            base_url: env
                .get("ANTHROPIC_BASE_URL")
                .unwrap_or_else(|| ANTHROPIC_URL.to_owned()),
        });
    };
    let own = provider.api_key.clone();
    let api_key = match provider.base_url {
        Some(_) => own?,
        None => own.unwrap_or_else(default_key),
    };
    Some(AnthropicAccount {
        api_key,
        base_url: provider
            .base_url
            .clone()
            .unwrap_or_else(|| ANTHROPIC_URL.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use prowess_provider::config::{AnthropicOptions, OpenAiOptions};

    use super::*;

    fn provider(name: &str) -> ProviderConfig {
        ProviderConfig::new(name, ProviderKind::Anthropic(AnthropicOptions::default()))
    }

    /// Address and key.
    fn account(providers: &[ProviderConfig]) -> Option<(String, String)> {
        let env = Env::from_pairs([(ANTHROPIC_KEY_VARIABLE, "usual")]);
        let account = anthropic_account(providers, &env)?;
        let key = account.api_key.look_up(&env).unwrap();
        Some((account.base_url, key.expose().to_owned()))
    }

    #[test]
    fn skills_at_anthropic_are_reached_as_its_models_are() {
        let pair = |base: &str, key: &str| Some((base.to_owned(), key.to_owned()));
        let here = "http://127.0.0.1:9";
        assert_eq!(account(&[]), pair(ANTHROPIC_URL, "usual"));
        let other = ProviderConfig::new("a", ProviderKind::OpenAi(OpenAiOptions::default()))
            .with_api_key("x");
        assert_eq!(account(&[other]), pair(ANTHROPIC_URL, "usual"));
        assert_eq!(account(&[provider("b")]), pair(ANTHROPIC_URL, "usual"));
        let own = provider("b").with_api_key("own");
        assert_eq!(
            account(std::slice::from_ref(&own)),
            pair(ANTHROPIC_URL, "own")
        );
        let placed = provider("anthropic")
            .with_base_url(here)
            .with_api_key("placed");
        assert_eq!(account(&[own, placed]), pair(here, "placed"));
        // A usual key must not reach an address of someone else's.
        assert_eq!(account(&[provider("b").with_base_url(here)]), None);
    }
}
