//! `[server]`: how the server listens and answers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use prowess_provider::config::{Kind, ProviderConfig};
use prowess_provider::{Env, KeySource};
use prowess_server::{AnthropicAccount, Secret, ServeOptions, Settings, SkillsAt};
use prowess_store::TenantId;
use serde::Deserialize;

use super::Overrides;
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
    "connections",
    "grace_seconds",
];

const LISTEN: &str = "127.0.0.1:4141";
const ANTHROPIC: &str = "https://api.anthropic.com";
const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
/// Shorter master keys can be guessed.
const MIN_KEY: usize = 16;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Raw {
    /// Address and port.
    listen: Option<String>,
    /// The folder for everything that stays.
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
    /// Skill uploads in memory at once.
    uploads: Option<usize>,
    /// Connections at once.
    connections: Option<usize>,
    /// How long requests under way may take to finish at the end.
    grace_seconds: Option<u64>,
}

/// How the server listens and answers, checked.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub listen: SocketAddr,
    /// How it answers.
    pub settings: Settings,
    /// How it treats connections.
    pub options: ServeOptions,
}

pub(super) fn check(
    raw: &Raw,
    overrides: &Overrides,
    providers: &[ProviderConfig],
) -> Result<Server, ConfigError> {
    let master_key = master_key(raw, overrides)?;
    let listen = listen(raw, overrides, master_key.is_some())?;
    let defaults = Settings::default();
    let options = ServeOptions::default();
    Ok(Server {
        listen,
        settings: Settings {
            master_key,
            index_tenant: index_tenant(raw)?,
            skills_at: skills_at(raw)?,
            anthropic: anthropic(providers, &Env::process()),
            file_bytes: raw.file_bytes.unwrap_or(defaults.file_bytes),
            request_bytes: raw.request_bytes.unwrap_or(defaults.request_bytes),
            uploads: raw.uploads.unwrap_or(defaults.uploads),
            ..defaults
        },
        options: ServeOptions {
            connections: raw.connections.unwrap_or(options.connections),
            grace: raw.grace_seconds.map_or(options.grace, Duration::from_secs),
            ..options
        },
    })
}

/// Named outright, or the usual place of the user's data.
pub(super) fn data_dir(raw: &Raw, overrides: &Overrides) -> Result<PathBuf, ConfigError> {
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

fn listen(raw: &Raw, overrides: &Overrides, locked: bool) -> Result<SocketAddr, ConfigError> {
    let text = overrides.listen.as_deref().or(raw.listen.as_deref());
    let text = text.unwrap_or(LISTEN);
    let address: SocketAddr = text.parse().map_err(|_| {
        let reason = format!("`{text}` is not an address and port, for instance {LISTEN}");
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

fn master_key(raw: &Raw, overrides: &Overrides) -> Result<Option<Secret>, ConfigError> {
    const SETTING: &str = "server.master_key";
    let text = overrides.master_key.as_ref().or(raw.master_key.as_ref());
    let Some(text) = text else {
        return Ok(None);
    };
    let key = secret::resolve(SETTING, text)?;
    let reason = if key.reveal().len() < MIN_KEY {
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

fn index_tenant(raw: &Raw) -> Result<Option<TenantId>, ConfigError> {
    let tenant = raw.index_tenant.as_ref().map(TenantId::new).transpose();
    tenant.map_err(|error| ConfigError::invalid("server.index_tenant", error.to_string()))
}

fn skills_at(raw: &Raw) -> Result<SkillsAt, ConfigError> {
    match raw.skills_provider.as_deref() {
        None | Some("prowess" | "litellm_proxy") => Ok(SkillsAt::Store),
        Some("anthropic") => Ok(SkillsAt::Anthropic),
        Some(other) => {
            let reason = format!("`{other}` is not prowess or anthropic");
            Err(ConfigError::invalid("server.skills_provider", reason))
        }
    }
}

/// The account of the provider called `anthropic`, else of the first one of that kind,
/// else of the usual variables. As for models, a key from a usual variable does not go
/// to an address that was configured.
fn anthropic(providers: &[ProviderConfig], env: &Env) -> Option<AnthropicAccount> {
    let usual = || KeySource::Env(ANTHROPIC_KEY.to_owned());
    let mut all = providers
        .iter()
        .filter(|provider| matches!(provider.kind, Kind::Anthropic(_)));
    let named = all.clone().find(|provider| provider.name == "anthropic");
    let Some(provider) = named.or_else(|| all.next()) else {
        env.get(ANTHROPIC_KEY)?;
        return Some(AnthropicAccount {
            api_key: usual(),
            base_url: env
                .get("ANTHROPIC_BASE_URL")
                .unwrap_or_else(|| ANTHROPIC.to_owned()),
        });
    };
    let own = provider.api_key.clone();
    let api_key = match provider.base_url {
        Some(_) => own?,
        None => own.unwrap_or_else(usual),
    };
    Some(AnthropicAccount {
        api_key,
        base_url: provider
            .base_url
            .clone()
            .unwrap_or_else(|| ANTHROPIC.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use prowess_provider::config::{AnthropicOptions, OpenAiOptions};

    use super::*;

    fn provider(name: &str) -> ProviderConfig {
        ProviderConfig::new(name, Kind::Anthropic(AnthropicOptions::default()))
    }

    /// Address and key.
    fn account(providers: &[ProviderConfig]) -> Option<(String, String)> {
        let env = Env::of([(ANTHROPIC_KEY, "usual")]);
        let account = anthropic(providers, &env)?;
        let key = account.api_key.look_up(&env).unwrap();
        Some((account.base_url, key.expose().to_owned()))
    }

    #[test]
    fn skills_at_anthropic_are_reached_as_its_models_are() {
        let pair = |base: &str, key: &str| Some((base.to_owned(), key.to_owned()));
        let here = "http://127.0.0.1:9";
        assert_eq!(account(&[]), pair(ANTHROPIC, "usual"));
        let other = ProviderConfig::new("a", Kind::OpenAi(OpenAiOptions::default())).key("x");
        assert_eq!(account(&[other]), pair(ANTHROPIC, "usual"));
        assert_eq!(account(&[provider("b")]), pair(ANTHROPIC, "usual"));
        let own = provider("b").key("own");
        assert_eq!(account(std::slice::from_ref(&own)), pair(ANTHROPIC, "own"));
        let placed = provider("anthropic").at(here).key("placed");
        assert_eq!(account(&[own, placed]), pair(here, "placed"));
        // A usual key must not reach an address of someone else's.
        assert_eq!(account(&[provider("b").at(here)]), None);
    }
}
