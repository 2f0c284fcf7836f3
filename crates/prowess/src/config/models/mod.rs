//! `[[models]]`: model names, their deployments and fallbacks.

mod choice;
mod deployment;
mod values;

use std::time::Duration;

use prowess_provider::config::{
    BreakerPolicy, DeploymentConfig, MinuteLimits, ModelConfig, ProviderConfig, WriteOverrides,
};
use schemars::JsonSchema;
use serde::Deserialize;

use self::choice::{CooldownToml, StickySetting, StrategySetting};
use self::deployment::DeploymentToml;
use self::values::{base_model, limit, price};
use super::error::ConfigError;
use super::problems::ConfigProblems;
use super::values::DurationSetting;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Model")]
pub(super) struct ModelToml {
    /// Model name in requests; a trailing `*` matches any suffix. Entries of one name are
    /// deployments of one model.
    #[schemars(extend("x-shown" = true))]
    name: String,
    /// Other names of the model.
    #[serde(default)]
    #[schemars(extend("x-shown" = true))]
    aliases: Vec<String>,
    /// The provider: one of `[providers]`, or a built-in one that needs no entry there.
    #[schemars(extend("x-shown" = true, "x-default" = "that of each deployment"))]
    provider: Option<String>,
    /// Model name sent to the provider.
    #[schemars(extend("x-shown" = true, "x-default" = "the name in the request"))]
    model: Option<String>,
    /// The known model that it is, if its name does not say so: `MODEL` of the same kind of
    /// provider, or `PROVIDER/MODEL`. Price, limits and what the model supports follow from it.
    #[schemars(extend("x-shown" = true, "x-default" = "by the model's name"))]
    base_model: Option<String>,
    /// Several deployments of the model, instead of `provider` and `model`.
    #[serde(default)]
    deployments: Vec<DeploymentToml>,
    /// The part of the requests that it gets, among the deployments of the same name; 0 for only
    /// those that no other can take.
    #[schemars(extend("x-default" = "`1`"))]
    weight: Option<u32>,
    /// How one of several deployments is chosen.
    #[schemars(extend("x-default" = "`weighted`"))]
    strategy: Option<StrategySetting>,
    /// How long a conversation prefers the deployment that answered it, so that its prompt is
    /// read from a cache, or `off`.
    #[schemars(extend("x-default" = "`5m`"))]
    sticky: Option<StickySetting>,
    /// How long one of several deployments is passed over after a failure.
    #[schemars(extend("x-default" = "its defaults"))]
    cooldown: Option<CooldownToml>,
    /// Models to try, in this order, when this one fails.
    #[serde(default)]
    #[schemars(extend("x-shown" = true))]
    fallbacks: Vec<String>,
    /// Models to try, in this order, when the request is too long for this one.
    #[serde(default)]
    #[schemars(extend("x-shown" = true))]
    context_fallbacks: Vec<String>,
    /// Models to try, in this order, when a content filter of the provider refuses the request.
    #[serde(default)]
    #[schemars(extend("x-shown" = true))]
    content_filter_fallbacks: Vec<String>,
    /// Maximum concurrent calls of a deployment; further calls wait.
    #[schemars(extend("x-default" = "no limit"))]
    concurrent: Option<usize>,
    /// Maximum waiting calls; up to twice as many with those of tenants that have few waiting.
    #[schemars(extend("x-default" = "ten times `concurrent`"))]
    queued: Option<usize>,
    /// How long a call may wait.
    #[schemars(extend("x-old-names" = ["wait_seconds"], "x-default" = "`60s`"))]
    wait: Option<DurationSetting>,
    /// Maximum requests per minute to a deployment.
    #[schemars(extend("x-default" = "no limit"))]
    requests_per_minute: Option<u64>,
    /// Maximum tokens per minute of requests to a deployment: of the input, estimated, and the
    /// maximum output that the request names.
    #[schemars(extend("x-default" = "no limit"))]
    tokens_per_minute: Option<u64>,
    /// Consecutive failures that open the circuit breaker.
    #[schemars(extend("x-default" = "that of the provider; of several deployments `3`"))]
    breaker_failures: Option<u32>,
    /// How long the circuit breaker stays open.
    #[schemars(extend(
        "x-old-names" = ["breaker_seconds"],
        "x-default" = "that of the provider; of several deployments `10s`"
    ))]
    breaker_pause: Option<DurationSetting>,
    /// Price of a million input tokens.
    #[schemars(extend("x-default" = "that of a known model"))]
    input_price: Option<f64>,
    /// Price of a million output tokens.
    #[schemars(extend("x-default" = "that of a known model"))]
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
    /// `max_tokens` for models that require it, when the request has none; never more than the
    /// model is known to write.
    #[schemars(extend("x-default" = "what the model can write, or `8192`"))]
    default_max_tokens: Option<u64>,
    /// Whether temperature, top_p and top_k may be sent.
    #[schemars(extend("x-default" = "by the model's name"))]
    sampling: Option<bool>,
    /// Whether the model accepts an effort level instead of a thinking budget.
    #[schemars(extend("x-default" = "by the model's name"))]
    effort_levels: Option<bool>,
    /// Whether system messages are allowed in the middle of a conversation.
    #[schemars(extend("x-default" = "by the model's name"))]
    system_in_place: Option<bool>,
    /// Whether Gemini is asked to accept past tool calls without a thought signature.
    #[schemars(extend("x-default" = "by the model's name"))]
    unsigned_calls: Option<bool>,
    /// Whether a Chat server requires the old `max_tokens`.
    #[schemars(extend("x-default" = "by the provider"))]
    legacy_max_tokens: Option<bool>,
    /// Whether a Chat server accepts past reasoning as `reasoning_content`.
    #[schemars(extend("x-default" = "by the provider"))]
    reasoning_content: Option<bool>,
    /// Whether an OpenAI server accepts `prompt_cache_breakpoint`.
    #[schemars(extend("x-default" = "by the provider"))]
    cache_breakpoints: Option<bool>,
}

/// The valid models; the error of each other one is recorded. `providers` are the configured
/// ones that are valid.
pub(super) fn check_all(
    raw: Vec<ModelToml>,
    providers: &[ProviderConfig],
    problems: &mut ConfigProblems,
) -> Vec<ModelConfig> {
    let checked = raw.into_iter().map(|model| model.check(providers));
    checked.filter_map(|model| problems.record(model)).collect()
}

impl ModelToml {
    fn check(mut self, providers: &[ProviderConfig]) -> Result<ModelConfig, ConfigError> {
        let entry = format!("models.{}", self.name);
        let deployments = self.deployments(&entry, providers)?;
        let provider = match (self.provider.take(), deployments.is_empty()) {
            (Some(provider), _) => provider,
            (None, false) => String::new(),
            (None, true) => {
                let reason = "it is missing; name a provider, or set deployments";
                return Err(ConfigError::invalid(format!("{entry}.provider"), reason));
            }
        };
        // Each of several deployments has taken it over, as its provider names models.
        let base_model = match deployments.is_empty() {
            true => base_model(&entry, self.base_model.as_deref(), &provider, providers)?,
            false => None,
        };
        let prices = [
            self.input_price,
            self.output_price,
            self.cache_read_price,
            self.cache_write_price,
            self.cache_write_1h_price,
            self.web_search_price,
        ];
        Ok(ModelConfig {
            limit: limit(&entry, self.concurrent, self.queued, self.wait)?,
            minute_limits: MinuteLimits {
                requests: self.requests_per_minute,
                tokens: self.tokens_per_minute,
            },
            weight: self.weight.unwrap_or(1),
            breaker: self.breaker(),
            price: price(&entry, prices)?,
            write_overrides: self.write_changes(),
            deployments,
            strategy: self.strategy.map(StrategySetting::get),
            cooldown: self.cooldown.map(|cooldown| cooldown.policy()),
            sticky: self.sticky.map(StickySetting::get),
            aliases: self.aliases,
            model: self.model,
            base_model,
            fallbacks: self.fallbacks,
            context_fallbacks: self.context_fallbacks,
            content_filter_fallbacks: self.content_filter_fallbacks,
            ..ModelConfig::new(self.name, provider)
        })
    }

    fn deployments(
        &mut self,
        entry: &str,
        providers: &[ProviderConfig],
    ) -> Result<Vec<DeploymentConfig>, ConfigError> {
        let deployments = std::mem::take(&mut self.deployments);
        if deployments.is_empty() {
            return Ok(Vec::new());
        }
        for (key, is_set) in [
            ("provider", self.provider.is_some()),
            ("model", self.model.is_some()),
            ("weight", self.weight.is_some()),
        ] {
            if is_set {
                let reason = "the model has deployments; set this in each of them instead";
                return Err(ConfigError::invalid(format!("{entry}.{key}"), reason));
            }
        }
        let model = (entry, self.base_model.as_deref());
        let checked = deployments.into_iter().enumerate();
        let checked = checked.map(|(index, deployment)| {
            let entry = format!("{entry}.deployments.{}", index + 1);
            deployment.check(&entry, model, providers)
        });
        checked.collect()
    }

    fn breaker(&self) -> Option<BreakerPolicy> {
        if self.breaker_failures.is_none() && self.breaker_pause.is_none() {
            return None;
        }
        let pause = self.breaker_pause.map(DurationSetting::get);
        Some(circuit_breaker(self.breaker_failures, pause))
    }

    fn write_changes(&self) -> WriteOverrides {
        WriteOverrides {
            default_max_tokens: self.default_max_tokens,
            sampling: self.sampling,
            effort_levels: self.effort_levels,
            system_in_place: self.system_in_place,
            unsigned_calls: self.unsigned_calls,
            legacy_max_tokens: self.legacy_max_tokens,
            reasoning_content: self.reasoning_content,
            cache_breakpoints: self.cache_breakpoints,
        }
    }
}

/// The circuit breaker's settings, with defaults.
pub(super) fn circuit_breaker(failures: Option<u32>, pause: Option<Duration>) -> BreakerPolicy {
    let defaults = BreakerPolicy::default();
    BreakerPolicy {
        failures: failures.unwrap_or(defaults.failures),
        pause: pause.unwrap_or(defaults.pause),
    }
}
