//! A model by the name that clients use: its deployments, what is tried when they fail, and how
//! one of them is chosen.

use std::time::Duration;

use super::{
    BreakerPolicy, ConcurrencyLimit, CooldownPolicy, DeploymentStrategy, Price, WriteOverrides,
};
use crate::known_models::BaseModel;

/// A model, by the name that clients use. Entries of one name are deployments of one model.
#[derive(Debug, Clone)]
pub struct ModelConfig {
    /// The name; a trailing `*` matches any suffix.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// The provider that has it; empty if `deployments` name theirs.
    pub provider: String,
    /// The model name sent to the provider. Default: the client's name. A trailing `*` is
    /// replaced by what the `*` of the name matched.
    pub model: Option<String>,
    /// The known model that it is, if its name does not say so.
    pub base_model: Option<BaseModel>,
    /// Models to try, in this order, when this one fails: names of other entries or
    /// `provider/model`. Their own fallbacks are not followed.
    pub fallbacks: Vec<String>,
    /// Models to try when the request is too long for this one.
    pub context_fallbacks: Vec<String>,
    /// Models to try when a content filter of the provider refuses the request.
    pub content_filter_fallbacks: Vec<String>,
    /// Limit of concurrent calls, of each deployment that has none of its own.
    pub limit: Option<ConcurrencyLimit>,
    /// Limits per minute, of each deployment that has none of its own.
    pub minute_limits: MinuteLimits,
    /// The part of the requests that it gets, among the deployments of the same name.
    pub weight: u32,
    /// What the model supports, where models of one dialect differ.
    pub write_overrides: WriteOverrides,
    /// Circuit breaker. Default: its provider's.
    pub breaker: Option<BreakerPolicy>,
    /// The price of its tokens.
    pub price: Option<Price>,
    /// Its deployments, if it has several; then `provider` and `model` are not used.
    pub deployments: Vec<DeploymentConfig>,
    /// How a deployment is chosen. Default: by weight.
    pub strategy: Option<DeploymentStrategy>,
    /// How long a deployment is passed over after a failure.
    pub cooldown: Option<CooldownPolicy>,
    /// How long a conversation prefers the deployment that answered it; zero for not at all.
    /// Default: five minutes.
    pub sticky: Option<Duration>,
}

impl ModelConfig {
    /// A model of a provider, under the name that both use.
    pub fn new(name: impl Into<String>, provider: impl Into<String>) -> Self {
        ModelConfig {
            name: name.into(),
            aliases: Vec::new(),
            provider: provider.into(),
            model: None,
            base_model: None,
            fallbacks: Vec::new(),
            context_fallbacks: Vec::new(),
            content_filter_fallbacks: Vec::new(),
            limit: None,
            minute_limits: MinuteLimits::default(),
            weight: 1,
            write_overrides: WriteOverrides::default(),
            breaker: None,
            price: None,
            deployments: Vec::new(),
            strategy: None,
            cooldown: None,
            sticky: None,
        }
    }

    /// A model with several deployments.
    pub fn with_deployments(
        name: impl Into<String>,
        deployments: impl IntoIterator<Item = DeploymentConfig>,
    ) -> Self {
        ModelConfig {
            deployments: deployments.into_iter().collect(),
            ..ModelConfig::new(name, "")
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

    /// All deployments, each with what it takes over from the entry.
    pub(crate) fn all_deployments(&self) -> Vec<DeploymentConfig> {
        if self.deployments.is_empty() {
            return vec![DeploymentConfig {
                provider: self.provider.clone(),
                model: self.model.clone(),
                base_model: self.base_model.clone(),
                weight: self.weight,
                limit: self.limit.clone(),
                minute_limits: self.minute_limits.clone(),
                breaker: self.breaker.clone(),
                price: self.price.clone(),
                write_overrides: Some(self.write_overrides.clone()),
            }];
        }
        let taken_over = |own: &DeploymentConfig| DeploymentConfig {
            base_model: own.base_model.clone().or_else(|| self.base_model.clone()),
            limit: own.limit.clone().or_else(|| self.limit.clone()),
            minute_limits: own.minute_limits.or(&self.minute_limits),
            breaker: own.breaker.clone().or_else(|| self.breaker.clone()),
            price: own.price.clone().or_else(|| self.price.clone()),
            write_overrides: own
                .write_overrides
                .clone()
                .or_else(|| Some(self.write_overrides.clone())),
            ..own.clone()
        };
        self.deployments.iter().map(taken_over).collect()
    }
}

/// One deployment of a model that has several.
#[derive(Debug, Clone)]
pub struct DeploymentConfig {
    /// The provider that has it.
    pub provider: String,
    /// The model name sent to the provider, as in [`ModelConfig::model`].
    pub model: Option<String>,
    /// The known model that it is, as in [`ModelConfig::base_model`].
    pub base_model: Option<BaseModel>,
    /// The part of the requests that it gets; 0 if only what no other deployment can take.
    pub weight: u32,
    /// Limit of concurrent calls.
    pub limit: Option<ConcurrencyLimit>,
    /// Limits per minute.
    pub minute_limits: MinuteLimits,
    /// Circuit breaker.
    pub breaker: Option<BreakerPolicy>,
    /// The price of its tokens.
    pub price: Option<Price>,
    /// What the model supports there, where that differs from its other deployments.
    pub write_overrides: Option<WriteOverrides>,
}

impl DeploymentConfig {
    /// A deployment of weight 1 without limits.
    pub fn new(provider: impl Into<String>) -> Self {
        DeploymentConfig {
            provider: provider.into(),
            model: None,
            base_model: None,
            weight: 1,
            limit: None,
            minute_limits: MinuteLimits::default(),
            breaker: None,
            price: None,
            write_overrides: None,
        }
    }

    /// Sets the name that the provider uses.
    pub fn with_upstream_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets the weight.
    pub fn with_weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }
}

/// What a deployment may be sent within a minute.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct MinuteLimits {
    /// Requests.
    pub requests: Option<u64>,
    /// Tokens: those of the input, estimated, and the output that the request allows.
    pub tokens: Option<u64>,
}

impl MinuteLimits {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.requests.is_none() && self.tokens.is_none()
    }

    fn or(&self, default: &MinuteLimits) -> MinuteLimits {
        MinuteLimits {
            requests: self.requests.or(default.requests),
            tokens: self.tokens.or(default.tokens),
        }
    }
}
