//! `[[models.deployments]]`: one of several deployments of a model.

use prowess_provider::config::{DeploymentConfig, MinuteLimits, ProviderConfig};
use schemars::JsonSchema;
use serde::Deserialize;

use super::values::{base_model, limit, price};
use crate::config::error::ConfigError;

/// One deployment. What it does not set, it takes over from its model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Deployment")]
pub(super) struct DeploymentToml {
    /// The provider: one of `[providers]`, or a built-in one that needs no entry there.
    #[schemars(extend("x-shown" = true))]
    provider: String,
    /// Model name sent to the provider.
    #[schemars(extend("x-shown" = true, "x-default" = "the name in the request"))]
    model: Option<String>,
    /// The known model that it is, if its name does not say so: `MODEL` of the same kind of
    /// provider, or `PROVIDER/MODEL`.
    #[schemars(extend("x-shown" = true, "x-default" = "that of the model"))]
    base_model: Option<String>,
    /// The part of the requests that it gets; 0 for only those that no other can take.
    #[schemars(extend("x-default" = "`1`"))]
    weight: Option<u32>,
    /// Maximum concurrent calls.
    #[schemars(extend("x-default" = "that of the model"))]
    concurrent: Option<usize>,
    /// Maximum requests per minute.
    #[schemars(extend("x-default" = "that of the model"))]
    requests_per_minute: Option<u64>,
    /// Maximum tokens per minute.
    #[schemars(extend("x-default" = "that of the model"))]
    tokens_per_minute: Option<u64>,
    /// Price of a million input tokens.
    #[schemars(extend("x-default" = "that of the model"))]
    input_price: Option<f64>,
    /// Price of a million output tokens.
    #[schemars(extend("x-default" = "that of the model"))]
    output_price: Option<f64>,
    /// Price of a million tokens read from a cache.
    #[schemars(extend("x-default" = "`input_price`"))]
    cache_read_price: Option<f64>,
    /// Price of a million tokens written to a cache.
    #[schemars(extend("x-default" = "`input_price`"))]
    cache_write_price: Option<f64>,
    /// Price of a million tokens written to a cache that keeps them for an hour.
    #[schemars(extend("x-default" = "twice `input_price`"))]
    cache_write_1h_price: Option<f64>,
    /// Price of a thousand web searches by the provider's servers.
    #[schemars(extend("x-default" = "the vendor's, in US dollars"))]
    web_search_price: Option<f64>,
}

impl DeploymentToml {
    /// `model` is the entry of its model, and the `base_model` there.
    pub(super) fn check(
        self,
        entry: &str,
        model: (&str, Option<&str>),
        providers: &[ProviderConfig],
    ) -> Result<DeploymentConfig, ConfigError> {
        let (base_entry, base) = match &self.base_model {
            Some(own) => (entry, Some(own.as_str())),
            None => model,
        };
        let base_model = base_model(base_entry, base, &self.provider, providers)?;
        let prices = [
            self.input_price,
            self.output_price,
            self.cache_read_price,
            self.cache_write_price,
            self.cache_write_1h_price,
            self.web_search_price,
        ];
        Ok(DeploymentConfig {
            model: self.model,
            base_model,
            weight: self.weight.unwrap_or(1),
            limit: limit(entry, self.concurrent, None, None)?,
            minute_limits: MinuteLimits {
                requests: self.requests_per_minute,
                tokens: self.tokens_per_minute,
            },
            price: price(entry, prices)?,
            ..DeploymentConfig::new(self.provider)
        })
    }
}
