//! Checks the settings of the HTTP server.

use std::net::SocketAddr;
use std::time::Duration;

use prowess_provider::config::ProviderConfig;
use prowess_provider::{Env, KeySource};
use prowess_server::{
    AnthropicAccount, SecretString, ServeOptions, ServerSettings, SkillsLocation,
};
use prowess_store::TenantId;

use super::{ServerToml, SkillsTarget};
use crate::config::error::ConfigError;
use crate::config::overrides::ConfigOverrides;
use crate::config::secret;
use crate::config::values::DurationSetting;

const ANTHROPIC_URL: &str = "https://api.anthropic.com";
const ANTHROPIC_KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";
/// Shorter master keys can be guessed.
const MIN_MASTER_KEY_CHARS: usize = 16;

/// The checked settings of the server.
#[derive(Debug)]
pub struct ServerConfig {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Settings of the HTTP API.
    pub settings: ServerSettings,
    /// Whether requests have priority over commands, where the system permits it.
    pub realtime: bool,
    /// Whether there is a web console.
    pub console: bool,
    /// Limits and timeouts of connections.
    pub options: ServeOptions,
}

pub(in crate::config) fn check(
    raw: &ServerToml,
    overrides: &ConfigOverrides,
    providers: &[ProviderConfig],
) -> Result<ServerConfig, ConfigError> {
    let master_key = master_key(raw, overrides)?;
    let listen = listen_address(raw, overrides, master_key.is_some())?;
    let per_tenant = raw.requests_per_tenant;
    Ok(ServerConfig {
        listen,
        realtime: raw.realtime,
        console: raw.console,
        settings: ServerSettings {
            master_key,
            index_tenant: index_tenant(raw)?,
            skills_location: match raw.skills_provider {
                SkillsTarget::Prowess => SkillsLocation::Store,
                SkillsTarget::Anthropic => SkillsLocation::Anthropic,
            },
            anthropic: anthropic_account(providers, &Env::from_process()),
            file_bytes: raw.file_size.get(),
            request_bytes: raw.request_size.in_memory(),
            uploads: raw.uploads,
            body_bytes_in_flight: raw.body_memory.in_memory(),
            min_body_rate: raw.min_body_rate.get(),
            requests_per_tenant: per_tenant.unwrap_or(raw.connections / 2),
            ping_interval: raw.ping_interval.unless_zero(),
            response_retention: raw.response_retention.get(),
            upstream_models: raw.upstream_models,
            ..ServerSettings::default()
        },
        options: ServeOptions {
            connections: raw.connections,
            connections_per_address: raw.connections_per_address,
            head: positive("server.head_timeout", raw.head_timeout)?,
            idle: positive("server.idle_timeout", raw.idle_timeout)?,
            grace: raw.shutdown_grace.get(),
            ..ServeOptions::default()
        },
    })
}

/// Not zero: no connection could be used.
fn positive(setting: &'static str, given: DurationSetting) -> Result<Duration, ConfigError> {
    let none = || ConfigError::invalid(setting, "must be more than 0");
    given.unless_zero().ok_or_else(none)
}

fn listen_address(
    raw: &ServerToml,
    overrides: &ConfigOverrides,
    locked: bool,
) -> Result<SocketAddr, ConfigError> {
    let text = overrides.listen.as_deref().unwrap_or(&raw.listen);
    let address: SocketAddr = text.parse().map_err(|_| {
        let reason = format!("`{text}` is not an address and port, for instance 127.0.0.1:4141");
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
    let reason = if key.expose().len() < MIN_MASTER_KEY_CHARS {
        "too short: use at least 16 characters, for instance from `openssl rand -hex 32`"
    } else if key.expose().starts_with("sk-pw-") {
        "must not start with `sk-pw-`, the prefix of keys from `prowess keys create`"
    } else if !key.expose().bytes().all(|b| b.is_ascii_graphic()) {
        "contains spaces or non-ASCII characters, which clients cannot send"
    } else {
        return Ok(Some(SecretString::new(key.expose())));
    };
    Err(ConfigError::invalid(SETTING, reason))
}

fn index_tenant(raw: &ServerToml) -> Result<Option<TenantId>, ConfigError> {
    let tenant = raw.index_tenant.as_ref().map(TenantId::new).transpose();
    tenant.map_err(|error| ConfigError::invalid("server.index_tenant", error.to_string()))
}

/// The account of the provider called `anthropic`, else of the first one of that kind, else
/// of the well-known variables. As for models, a key from a well-known variable is not sent
/// to a configured address.
fn anthropic_account(providers: &[ProviderConfig], env: &Env) -> Option<AnthropicAccount> {
    let default_key = || KeySource::Env(ANTHROPIC_KEY_VARIABLE.to_owned());
    let mut all = providers
        .iter()
        .filter(|provider| provider.kind.as_str() == "anthropic");
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
    use prowess_provider::config::{AnthropicOptions, OpenAiOptions, ProviderKind};

    use super::*;

    fn provider(name: &str) -> ProviderConfig {
        ProviderConfig::new(name, ProviderKind::new(AnthropicOptions::default()))
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
        let other =
            ProviderConfig::new("a", ProviderKind::new(OpenAiOptions::default())).with_api_key("x");
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
        // A well-known key must not be sent to a configured address.
        assert_eq!(account(&[provider("b").with_base_url(here)]), None);
    }
}
