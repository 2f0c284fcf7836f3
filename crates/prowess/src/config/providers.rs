//! `[providers.NAME]`: accounts of model vendors.
//!
//! All kinds share one table of keys; a key that a kind does not have is refused, so that no
//! setting is silently ignored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prowess_provider::config::{
    AnthropicOptions, AwsKeys, AzureOptions, BedrockApi, BedrockOptions, GeminiOptions,
    OpenAiOptions, PROVIDER_KIND_NAMES, Policies, ProviderConfig, ProviderKind, ScriptedOptions,
    VertexOptions,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ConfigError;
use super::{models, paths};

pub(super) const KEYS: &[&str] = &[
    "kind",
    "base_url",
    "api_key",
    "caller_key",
    "headers",
    "connect_seconds",
    "answer_seconds",
    "idle_seconds",
    "attempts",
    "breaker_failures",
    "breaker_seconds",
    "version",
    "responses",
    "api_version",
    "bearer",
    "region",
    "access_key_id",
    "secret_access_key",
    "session_token",
    "api",
    "anthropic_version",
    "credentials",
    "project",
    "location",
    "script",
];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Provider")]
pub(super) struct ProviderToml {
    /// `anthropic`, `openai`, `azure`, `bedrock`, `vertex`, `gemini` or `scripted`.
    kind: String,
    /// Base URL; default: that of the kind.
    base_url: Option<String>,
    /// API key: `env:NAME`, `file:PATH` or the key itself.
    api_key: Option<String>,
    /// Whether clients may send their own key in `prowess-provider-key`.
    #[serde(default)]
    caller_key: bool,
    /// Headers added to every request; `env:NAME` and `file:PATH` work here too.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Connect timeout in seconds.
    connect_seconds: Option<u64>,
    /// Timeout for the response head in seconds.
    answer_seconds: Option<u64>,
    /// Timeout between chunks of a response in seconds.
    idle_seconds: Option<u64>,
    /// Maximum attempts per request.
    attempts: Option<u32>,
    /// Consecutive failures that open a model's circuit breaker; 0 disables it.
    breaker_failures: Option<u32>,
    /// Seconds the circuit breaker stays open.
    breaker_seconds: Option<u64>,
    /// `anthropic`: the API version sent when the client names none.
    version: Option<String>,
    /// `openai`: whether it has `/responses`.
    responses: Option<bool>,
    /// `azure`, `gemini`: the API version in the address.
    api_version: Option<String>,
    /// `azure`: whether the key is an Entra ID token.
    bearer: Option<bool>,
    /// `bedrock`: the region.
    region: Option<String>,
    /// `bedrock`: AWS access key, with its secret and optional session token.
    access_key_id: Option<String>,
    secret_access_key: Option<String>,
    session_token: Option<String>,
    /// `bedrock`: `auto`, `invoke` or `converse`.
    api: Option<String>,
    /// `bedrock`, `vertex`: `anthropic_version` in the body.
    anthropic_version: Option<String>,
    /// `vertex`: the file of a service account's key or a user's credentials.
    credentials: Option<PathBuf>,
    /// `vertex`: the project.
    project: Option<String>,
    /// `vertex`: the location.
    location: Option<String>,
    /// `scripted`: the script, relative to the folder of the configuration.
    script: Option<PathBuf>,
}

/// The providers of a configuration file in `folder`.
pub(super) fn check_all(
    raw: BTreeMap<String, ProviderToml>,
    folder: &Path,
) -> Result<Vec<ProviderConfig>, ConfigError> {
    let checked = raw.into_iter().map(|(name, raw)| raw.check(name, folder));
    checked.collect()
}

impl ProviderToml {
    fn check(mut self, name: String, folder: &Path) -> Result<ProviderConfig, ConfigError> {
        self.refuse_foreign_keys(&name)?;
        let policies = self.policies();
        let headers = std::mem::take(&mut self.headers).into_iter();
        let headers = headers.map(|(header, value)| {
            let setting = format!("providers.{name}.headers.{header}");
            Ok((header, paths::expand_key(setting, &value)?))
        });
        let headers = headers.collect::<Result<_, ConfigError>>()?;
        let api_key = self.api_key.take();
        let api_key =
            api_key.map(|key| paths::expand_key(format!("providers.{name}.api_key"), &key));
        Ok(ProviderConfig {
            base_url: self.base_url.take(),
            api_key: api_key.transpose()?,
            allow_client_key: self.caller_key,
            headers,
            policies,
            kind: self.kind(&name, folder)?,
            name,
        })
    }

    fn policies(&self) -> Policies {
        let mut policies = Policies::default();
        let set = |to: &mut Duration, seconds: Option<u64>| {
            *to = seconds.map_or(*to, Duration::from_secs);
        };
        set(&mut policies.timeouts.connect, self.connect_seconds);
        set(&mut policies.timeouts.response, self.answer_seconds);
        set(&mut policies.timeouts.idle, self.idle_seconds);
        policies.breaker = models::circuit_breaker(self.breaker_failures, self.breaker_seconds);
        policies.retry.max_attempts = self.attempts.unwrap_or(policies.retry.max_attempts);
        policies
    }

    /// The keys that only some kinds have: whether they are set, and which kinds have them.
    fn kind_specific_keys(&self) -> [(&'static str, bool, &'static [&'static str]); 14] {
        [
            ("version", self.version.is_some(), &["anthropic"]),
            ("responses", self.responses.is_some(), &["openai"]),
            (
                "api_version",
                self.api_version.is_some(),
                &["azure", "gemini"],
            ),
            ("bearer", self.bearer.is_some(), &["azure"]),
            ("region", self.region.is_some(), &["bedrock"]),
            ("access_key_id", self.access_key_id.is_some(), &["bedrock"]),
            (
                "secret_access_key",
                self.secret_access_key.is_some(),
                &["bedrock"],
            ),
            ("session_token", self.session_token.is_some(), &["bedrock"]),
            ("api", self.api.is_some(), &["bedrock"]),
            (
                "anthropic_version",
                self.anthropic_version.is_some(),
                &["bedrock", "vertex"],
            ),
            ("credentials", self.credentials.is_some(), &["vertex"]),
            ("project", self.project.is_some(), &["vertex"]),
            ("location", self.location.is_some(), &["vertex"]),
            ("script", self.script.is_some(), &["scripted"]),
        ]
    }

    fn refuse_foreign_keys(&self, name: &str) -> Result<(), ConfigError> {
        let kind = self.kind.as_str();
        let foreign = self.kind_specific_keys().into_iter();
        let foreign =
            foreign.filter(|(_, written, _)| *written && PROVIDER_KIND_NAMES.contains(&kind));
        match foreign
            .into_iter()
            .find(|(_, _, kinds)| !kinds.contains(&kind))
        {
            None => Ok(()),
            Some((key, _, kinds)) => {
                let kinds = kinds.join(" and ");
                let reason = format!("this is a setting of {kinds}, and the kind is {kind}");
                Err(ConfigError::invalid(
                    format!("providers.{name}.{key}"),
                    reason,
                ))
            }
        }
    }

    fn kind(self, name: &str, folder: &Path) -> Result<ProviderKind, ConfigError> {
        Ok(match self.kind.as_str() {
            "anthropic" => ProviderKind::Anthropic(match self.version {
                Some(version) => AnthropicOptions { version },
                None => AnthropicOptions::default(),
            }),
            "openai" => ProviderKind::OpenAi(OpenAiOptions {
                responses: self.responses,
            }),
            "azure" => ProviderKind::Azure(AzureOptions {
                api_version: self.api_version,
                bearer: self.bearer.unwrap_or_default(),
            }),
            "bedrock" => ProviderKind::Bedrock(self.bedrock_options(name)?),
            "vertex" => ProviderKind::Vertex(VertexOptions {
                credentials: match self.credentials {
                    Some(path) => Some(paths::expand_path(
                        format!("providers.{name}.credentials"),
                        &path,
                    )?),
                    None => None,
                },
                project: self.project,
                location: self.location,
                anthropic_version: self.anthropic_version,
            }),
            "gemini" => ProviderKind::Gemini(match self.api_version {
                Some(api_version) => GeminiOptions { api_version },
                None => GeminiOptions::default(),
            }),
            "scripted" => ProviderKind::Scripted(scripted_options(self.script, name, folder)?),
            other => {
                let reason = format!("`{other}` is not one of {}", PROVIDER_KIND_NAMES.join(", "));
                return Err(ConfigError::invalid(
                    format!("providers.{name}.kind"),
                    reason,
                ));
            }
        })
    }

    fn bedrock_options(self, name: &str) -> Result<BedrockOptions, ConfigError> {
        let api = match self.api.as_deref() {
            None | Some("auto") => BedrockApi::Auto,
            Some("invoke") => BedrockApi::Invoke,
            Some("converse") => BedrockApi::Converse,
            Some(other) => {
                let reason = format!("`{other}` is not auto, invoke or converse");
                return Err(ConfigError::invalid(
                    format!("providers.{name}.api"),
                    reason,
                ));
            }
        };
        let source = |setting: &str, key: String| {
            paths::expand_key(format!("providers.{name}.{setting}"), &key)
        };
        let token = self.session_token;
        let token = token.map(|token| source("session_token", token));
        let keys = match (self.access_key_id, self.secret_access_key) {
            (Some(id), Some(secret)) => Some(AwsKeys {
                access_key_id: source("access_key_id", id)?,
                secret_access_key: source("secret_access_key", secret)?,
                session_token: token.transpose()?,
            }),
            (None, None) if token.is_none() => None,
            _ => {
                let reason = "access_key_id and secret_access_key only work together";
                let setting = format!("providers.{name}.access_key_id");
                return Err(ConfigError::invalid(setting, reason));
            }
        };
        Ok(BedrockOptions {
            region: self.region,
            keys,
            api,
            anthropic_version: self.anthropic_version,
        })
    }
}

fn scripted_options(
    script: Option<PathBuf>,
    name: &str,
    folder: &Path,
) -> Result<ScriptedOptions, ConfigError> {
    match script {
        Some(path) => {
            let path = paths::expand_path(format!("providers.{name}.script"), &path)?;
            Ok(ScriptedOptions::File(folder.join(path)))
        }
        None => {
            let reason = "a scripted provider needs a script: script = \"script.toml\"";
            Err(ConfigError::invalid(
                format!("providers.{name}.script"),
                reason,
            ))
        }
    }
}
