//! Configuration of providers and models.
//!
//! Plain values; parsing files is the task of other crates. [`crate::Providers::new`]
//! validates them.

mod deployment;
mod error;
mod kind;
mod model;
mod policy;
mod price;
mod write_overrides;

pub use deployment::{CooldownPolicy, DeploymentStrategy};
pub use error::ProviderConfigError;
pub use kind::{AwsKeys, KindOptions, ProviderKind};
pub use model::{DeploymentConfig, MinuteLimits, ModelConfig};
pub use policy::{BreakerPolicy, ConcurrencyLimit, ProviderTimeouts, RetryPolicy};
pub use price::{LongPrice, Price, SpecialPrices, TokenRates};
pub use write_overrides::WriteOverrides;

pub use crate::kinds::anthropic::AnthropicOptions;
pub use crate::kinds::azure::AzureOptions;
pub use crate::kinds::azure_ai::{AzureAiApi, AzureAiOptions};
pub use crate::kinds::bedrock::{BedrockApi, BedrockOptions};
pub use crate::kinds::gemini::GeminiOptions;
pub use crate::kinds::openai::OpenAiOptions;
pub use crate::kinds::openrouter::OpenRouterOptions;
pub use crate::kinds::scripted::ScriptedOptions;
pub use crate::kinds::vertex::VertexOptions;
pub use crate::kinds::vllm::VllmOptions;

use crate::env::Env;
use crate::key::KeySource;

/// The configuration of all providers and models.
#[derive(Debug, Clone, Default)]
pub struct ProvidersConfig {
    /// The providers, by name.
    pub providers: Vec<ProviderConfig>,
    /// The models, by the names that clients use.
    pub models: Vec<ModelConfig>,
    /// Policies of the well-known providers, which need no configuration.
    pub default_policies: Policies,
    /// Where environment variables are looked up.
    pub env: Env,
}

/// Timeouts, retries and circuit breaker of calls to a provider.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    /// Timeouts.
    pub timeouts: ProviderTimeouts,
    /// Retries.
    pub retry: RetryPolicy,
    /// Circuit breaker.
    pub breaker: BreakerPolicy,
}

/// A provider: a server that has models.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// Its name, as in `name/model`.
    pub name: String,
    /// Its kind.
    pub kind: ProviderKind,
    /// Its address. Default: the kind's own.
    pub base_url: Option<String>,
    /// Its key. Default: the kind's standard variable, but only at the kind's own
    /// address.
    pub api_key: Option<KeySource>,
    /// Whether a client may send its own key, which then replaces the configured one.
    pub allow_client_key: bool,
    /// Headers added to every request; the values may come from variables and files.
    pub headers: Vec<(String, KeySource)>,
    /// Policies of its calls.
    pub policies: Policies,
}

impl ProviderConfig {
    /// A provider with only a name and a kind, or the options of one.
    pub fn new(name: impl Into<String>, kind: impl Into<ProviderKind>) -> Self {
        ProviderConfig {
            name: name.into(),
            kind: kind.into(),
            base_url: None,
            api_key: None,
            allow_client_key: false,
            headers: Vec::new(),
            policies: Policies::default(),
        }
    }

    /// Sets the address.
    pub fn with_base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// Sets the key: `env:NAME`, `file:PATH` or the key itself.
    pub fn with_api_key(mut self, key: &str) -> Self {
        self.api_key = Some(KeySource::parse(key));
        self
    }
}
