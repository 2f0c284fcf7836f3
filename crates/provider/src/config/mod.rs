//! What can be configured: providers, models, and how to treat them.
//!
//! Plain values; how a file spells them is for whoever reads files. They are checked
//! when [`crate::Providers::new`] builds from them.

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

/// Everything there is to know about providers and models.
#[derive(Debug, Clone, Default)]
pub struct ProvidersConfig {
    /// The providers, by name.
    pub providers: Vec<ProviderConfig>,
    /// The models, by the names clients use.
    pub models: Vec<ModelConfig>,
    /// How providers are treated that work without configuration.
    pub default_policies: Policies,
    /// Where variables are looked up.
    pub env: Env,
}

/// How calls to a provider are treated.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    /// How long to wait.
    pub timeouts: ProviderTimeouts,
    /// How to try again.
    pub retry: RetryPolicy,
    /// When to leave it alone.
    pub breaker: BreakerPolicy,
}

/// A provider: a server that has models.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// Its name, as in `name/model`.
    pub name: String,
    /// What it speaks.
    pub kind: ProviderKind,
    /// Its address; the kind's own when left out.
    pub base_url: Option<String>,
    /// Its key. When left out, and only at the kind's own address, the usual variable.
    pub api_key: Option<KeySource>,
    /// Whether a caller may bring a key of their own, which then replaces ours.
    pub allow_client_key: bool,
    /// Headers added to every request; the values may come from variables and files.
    pub headers: Vec<(String, KeySource)>,
    /// How calls are treated.
    pub policies: Policies,
}

impl ProviderConfig {
    /// A provider with nothing but a name and a kind.
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

    /// The same at an address.
    pub fn with_base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// The same with a key: `env:NAME`, `file:PATH` or the key itself.
    pub fn with_api_key(mut self, key: &str) -> Self {
        self.api_key = Some(KeySource::parse(key));
        self
    }
}

/// A model by the name clients use.
#[derive(Debug, Clone)]
pub struct ModelConfig {
    /// The name; a trailing `*` matches any rest.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// The provider that has it.
    pub provider: String,
    /// What the provider is told: the client's name when left out. A trailing `*` stands
    /// for what the name's own `*` matched.
    pub model: Option<String>,
    /// Models to turn to, in this order, when this one fails: names of other entries or
    /// `provider/model`. Their own fallbacks are not followed.
    pub fallbacks: Vec<String>,
    /// How many calls may run at once.
    pub limit: Option<ConcurrencyLimit>,
    /// What the model can do, where models of one dialect differ.
    pub write_overrides: WriteOverrides,
    /// When to leave it alone; as its provider says when left out.
    pub breaker: Option<BreakerPolicy>,
    /// What its tokens cost.
    pub price: Option<Price>,
}

impl ModelConfig {
    /// A model of a provider, under the name both use.
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

    /// The same, called otherwise by its provider.
    pub fn with_upstream_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The same with models to turn to when it fails.
    pub fn with_fallbacks<const N: usize>(mut self, fallbacks: [&str; N]) -> Self {
        self.fallbacks = fallbacks.map(str::to_owned).to_vec();
        self
    }
}
