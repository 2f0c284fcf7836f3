//! `[[models]]`: model names and their targets.

use std::time::Duration;

use prowess_provider::config::{
    BreakerPolicy, ConcurrencyLimit, ModelConfig, Price, WriteOverrides,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ConfigError;

pub(super) const KEYS: &[&str] = &[
    "name",
    "aliases",
    "provider",
    "model",
    "fallbacks",
    "concurrent",
    "queued",
    "wait_seconds",
    "breaker_failures",
    "breaker_seconds",
    "input_price",
    "output_price",
    "cache_read_price",
    "cache_write_price",
    "default_max_tokens",
    "sampling",
    "effort_levels",
    "system_in_place",
    "unsigned_calls",
    "legacy_max_tokens",
    "reasoning_content",
    "cache_breakpoints",
];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Model")]
pub(super) struct ModelToml {
    /// Model name in requests; a trailing `*` matches any suffix.
    name: String,
    /// Other names of the model.
    #[serde(default)]
    aliases: Vec<String>,
    /// The provider: one of `[providers]`, or a built-in one that needs no entry there.
    provider: String,
    /// Model name sent to the provider; default: the name in the request.
    model: Option<String>,
    /// Models to try, in this order, when this one fails.
    #[serde(default)]
    fallbacks: Vec<String>,
    /// Maximum concurrent calls; further calls wait.
    concurrent: Option<usize>,
    /// Maximum waiting calls; default: ten times `concurrent`.
    queued: Option<usize>,
    /// Seconds a call may wait; default 60.
    wait_seconds: Option<u64>,
    /// Consecutive failures that open the circuit breaker; default: the provider's value.
    breaker_failures: Option<u32>,
    /// Seconds the circuit breaker stays open.
    breaker_seconds: Option<u64>,
    /// Price of a million input tokens.
    input_price: Option<f64>,
    /// Price of a million output tokens.
    output_price: Option<f64>,
    /// Price of a million tokens read from a cache; default: `input_price`.
    cache_read_price: Option<f64>,
    /// Price of a million tokens written to a cache; default: `input_price`.
    cache_write_price: Option<f64>,
    /// `max_tokens` for models that require it, when the request has none.
    default_max_tokens: Option<u64>,
    /// Whether temperature, top_p and top_k may be sent.
    sampling: Option<bool>,
    /// Whether the model accepts an effort level instead of a thinking budget.
    effort_levels: Option<bool>,
    /// Whether system messages are allowed in the middle of a conversation.
    system_in_place: Option<bool>,
    /// Whether Gemini is asked to accept past tool calls without a thought signature.
    unsigned_calls: Option<bool>,
    /// Whether a Chat server requires the old `max_tokens`.
    legacy_max_tokens: Option<bool>,
    /// Whether a Chat server accepts past reasoning as `reasoning_content`.
    reasoning_content: Option<bool>,
    /// Whether an OpenAI server accepts `prompt_cache_breakpoint`.
    cache_breakpoints: Option<bool>,
}

pub(super) fn check_all(raw: Vec<ModelToml>) -> Result<Vec<ModelConfig>, ConfigError> {
    raw.into_iter().map(ModelToml::check).collect()
}

impl ModelToml {
    fn check(self) -> Result<ModelConfig, ConfigError> {
        Ok(ModelConfig {
            limit: self.limit()?,
            breaker: self.breaker(),
            price: self.price()?,
            write_overrides: self.write_changes(),
            aliases: self.aliases,
            model: self.model,
            fallbacks: self.fallbacks,
            ..ModelConfig::new(self.name, self.provider)
        })
    }

    fn limit(&self) -> Result<Option<ConcurrencyLimit>, ConfigError> {
        match self.concurrent {
            Some(concurrent) => {
                let defaults = ConcurrencyLimit::new(concurrent);
                Ok(Some(ConcurrencyLimit {
                    queued: self.queued.unwrap_or(defaults.queued),
                    wait: self.wait_seconds.map_or(defaults.wait, Duration::from_secs),
                    ..defaults
                }))
            }
            None if self.queued.is_some() || self.wait_seconds.is_some() => {
                let reason = "calls wait only when `concurrent` is set; set it too";
                Err(self.invalid("queued", reason))
            }
            None => Ok(None),
        }
    }

    fn breaker(&self) -> Option<BreakerPolicy> {
        if self.breaker_failures.is_none() && self.breaker_seconds.is_none() {
            return None;
        }
        Some(circuit_breaker(self.breaker_failures, self.breaker_seconds))
    }

    fn price(&self) -> Result<Option<Price>, ConfigError> {
        match (self.input_price, self.output_price) {
            (Some(input), Some(output)) => Ok(Some(Price {
                input,
                output,
                cache_read: self.cache_read_price,
                cache_write: self.cache_write_price,
            })),
            (None, None) if self.cache_read_price.is_none() && self.cache_write_price.is_none() => {
                Ok(None)
            }
            _ => {
                let reason = "a price needs both input_price and output_price; 0 is allowed";
                Err(self.invalid("input_price", reason))
            }
        }
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

    fn invalid(&self, key: &str, reason: &str) -> ConfigError {
        ConfigError::invalid(format!("models.{}.{key}", self.name), reason)
    }
}

/// The circuit breaker's settings, with defaults.
pub(super) fn circuit_breaker(failures: Option<u32>, seconds: Option<u64>) -> BreakerPolicy {
    let defaults = BreakerPolicy::default();
    BreakerPolicy {
        failures: failures.unwrap_or(defaults.failures),
        pause: seconds.map_or(defaults.pause, Duration::from_secs),
    }
}
