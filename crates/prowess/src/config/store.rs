//! `[store]`: where rows are kept.

use std::path::PathBuf;

use prowess_store::StoreConfig;
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ConfigError;
use super::{Overrides, blobs};

pub(super) const KEYS: &[&str] = &["url"];

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Store")]
pub(super) struct Raw {
    /// `sqlite`, or `postgres://…`; `env:NAME` and `file:PATH` keep its password out
    /// of this file.
    url: Option<String>,
}

pub(super) fn check(
    raw: &Raw,
    blobs: &blobs::Raw,
    data_dir: PathBuf,
    overrides: &Overrides,
) -> Result<StoreConfig, ConfigError> {
    let mut config = StoreConfig::local(data_dir);
    if let Some(url) = overrides.store_url.as_ref().or(raw.url.as_ref()) {
        let url = super::secret::resolve("store.url", url)?;
        url.reveal().clone_into(&mut config.database);
    }
    blobs::apply(blobs, &mut config);
    Ok(config)
}
