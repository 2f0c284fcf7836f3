//! `[[models]]`: the names clients use, and what they mean.

use prowess_provider::config::{Limit, ModelConfig};
use serde::Deserialize;

pub(super) const KEYS: &[&str] = &[
    "name",
    "aliases",
    "provider",
    "model",
    "fallbacks",
    "concurrent",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
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
    /// Calls at once; ten times as many may wait.
    concurrent: Option<usize>,
}

pub(super) fn check(raw: Vec<Raw>) -> Vec<ModelConfig> {
    raw.into_iter().map(Raw::into_config).collect()
}

impl Raw {
    fn into_config(self) -> ModelConfig {
        ModelConfig {
            aliases: self.aliases,
            model: self.model,
            fallbacks: self.fallbacks,
            limit: self.concurrent.map(Limit::of),
            ..ModelConfig::new(self.name, self.provider)
        }
    }
}
