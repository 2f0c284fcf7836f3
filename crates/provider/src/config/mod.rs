//! Configuration of providers and models.
//!
//! Plain values; parsing files is the task of other crates. [`crate::Providers::new`]
//! validates them.

mod error;
mod kind;
mod policy;
mod price;
mod write_overrides;

pub use error::ProviderConfigError;
pub use kind::{
    AnthropicOptions, AwsKeys, AzureOptions, BedrockApi, BedrockOptions, GeminiOptions,
    OpenAiOptions, PROVIDER_KIND_NAMES, ProviderKind, ScriptedOptions, VertexOptions,
};
pub use policy::{BreakerPolicy, ConcurrencyLimit, ProviderTimeouts, RetryPolicy};
pub use price::Price;
pub use write_overrides::WriteOverrides;

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
    /// A provider with only a name and a kind.
    pub fn new(name: impl Into<String>, kind: ProviderKind) -> Self {
        ProviderConfig {
            name: name.into(),
            kind,
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

/// A model, by the name that clients use.
#[derive(Debug, Clone)]
pub struct ModelConfig {
    /// The name; a trailing `*` matches any suffix.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// The provider that has it.
    pub provider: String,
    /// The model name sent to the provider. Default: the client's name. A trailing `*` is
    /// replaced by what the `*` of the name matched.
    pub model: Option<String>,
    /// Models to try, in this order, when this one fails: names of other entries or
    /// `provider/model`. Their own fallbacks are not followed.
    pub fallbacks: Vec<String>,
    /// Limit of concurrent calls.
    pub limit: Option<ConcurrencyLimit>,
    /// What the model supports, where models of one dialect differ.
    pub write_overrides: WriteOverrides,
    /// Circuit breaker. Default: its provider's.
    pub breaker: Option<BreakerPolicy>,
    /// The price of its tokens.
    pub price: Option<Price>,
}

impl ModelConfig {
    /// A model of a provider, under the name that both use.
    pub fn new(name: impl Into<String>, provider: impl Into<String>) -> Self {
        ModelConfig {
            name: name.into(),
            aliases: Vec::new(),
            provider: provider.into(),
            model: None,
            fallbacks: Vec::new(),
            limit: None,
            write_overrides: WriteOverrides::default(),
            breaker: None,
            price: None,
        }
    }

    /// Sets the name that the provider uses.
    pub fn with_upstream_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the fallbacks.
    pub fn with_fallbacks<const N: usize>(mut self, fallbacks: [&str; N]) -> Self {
        self.fallbacks = fallbacks.map(str::to_owned).to_vec();
        self
    }
}
