//! `[[models]]`: the names clients use, and what they mean.

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
    /// What clients say; a trailing `*` matches the rest.
    name: String,
    /// Other names for it.
    #[serde(default)]
    aliases: Vec<String>,
    /// The provider that has it: one of `[providers]`, or one that needs no entry there.
    provider: String,
    /// What the provider is told; the client's name when left out.
    model: Option<String>,
    /// Models to turn to, in this order, when this one fails.
    #[serde(default)]
    fallbacks: Vec<String>,
    /// Calls at once; more wait.
    concurrent: Option<usize>,
    /// Calls that may wait; ten times `concurrent` when left out.
    queued: Option<usize>,
    /// How long a call may wait; a minute when left out.
    wait_seconds: Option<u64>,
    /// Failures in a row until the model is left alone; as its provider's when left out.
    breaker_failures: Option<u32>,
    /// How long it is then left alone.
    breaker_seconds: Option<u64>,
    /// The price of a million tokens of input.
    input_price: Option<f64>,
    /// The price of a million tokens of output.
    output_price: Option<f64>,
    /// The price of a million tokens read from a cache; that of input when left out.
    cache_read_price: Option<f64>,
    /// The price of a million tokens written to a cache; that of input when left out.
    cache_write_price: Option<f64>,
    /// The limit sent to models that demand one, when the client set none.
    default_max_tokens: Option<u64>,
    /// Whether temperature, top_p and top_k may be sent.
    sampling: Option<bool>,
    /// Whether the model takes an effort level instead of a thinking budget.
    effort_levels: Option<bool>,
    /// Whether a system message may stand in the middle of a conversation.
    system_in_place: Option<bool>,
    /// Whether Gemini is to accept past calls without a thought signature.
    unsigned_calls: Option<bool>,
    /// Whether a Chat server wants the old `max_tokens`.
    legacy_max_tokens: Option<bool>,
    /// Whether a Chat server takes thoughts back as `reasoning_content`.
    reasoning_content: Option<bool>,
    /// Whether an OpenAI server takes `prompt_cache_breakpoint` marks.
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
                let reason = "nothing waits for a model without `concurrent`; set it too";
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
                let reason = "a price needs both input_price and output_price; 0 is one too";
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

/// When to leave something alone, as far as it is said.
pub(super) fn circuit_breaker(failures: Option<u32>, seconds: Option<u64>) -> BreakerPolicy {
    let defaults = BreakerPolicy::default();
    BreakerPolicy {
        failures: failures.unwrap_or(defaults.failures),
        pause: seconds.map_or(defaults.pause, Duration::from_secs),
    }
}
