//! Builds the upstream of a provider's configuration, by the descriptor of its kind.

use super::Upstream;
use crate::config::{ProviderConfig, ProviderConfigError};
use crate::descriptor::{KindBackend, UpstreamSettings};
use crate::env::Env;
use crate::key::KeySource;

/// The configured upstream, validated; `None` for a kind without an address.
pub(crate) fn build_upstream(
    config: &ProviderConfig,
    env: &Env,
) -> Result<Option<Box<dyn Upstream>>, ProviderConfigError> {
    let kind = config.kind.descriptor();
    match kind.backend {
        KindBackend::Scripted => Ok(None),
        KindBackend::Http(build) => build(&UpstreamSettings {
            provider: &config.name,
            kind,
            base_url: config.base_url.as_deref(),
            has_key: config.api_key.is_some() || own_key(config, env).is_some(),
            options: config.kind.options(),
            env,
        })
        .map(Some),
    }
}

/// The key of the kind's standard variables. It must not be sent to another address than the
/// kind's own.
pub(crate) fn own_key(config: &ProviderConfig, env: &Env) -> Option<KeySource> {
    match config.base_url {
        None => config.kind.descriptor().key_from_env(env),
        Some(_) => None,
    }
}
