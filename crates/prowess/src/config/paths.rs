//! Paths in the file: `~/` means the home folder.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use prowess_provider::KeySource;
use prowess_source::home::expand;
use serde::{Deserialize, Deserializer, de};

use super::error::ConfigError;

/// Deserializes an optional path.
pub(super) fn deserialize<'de, D>(deserializer: D) -> Result<Option<PathBuf>, D::Error>
where
    D: Deserializer<'de>,
{
    let path = Option::<PathBuf>::deserialize(deserializer)?;
    let expanded = path.map(|path| expand(&path)).transpose();
    expanded.map_err(de::Error::custom)
}

/// Deserializes a path.
pub(super) fn deserialize_path<'de, D>(deserializer: D) -> Result<PathBuf, D::Error>
where
    D: Deserializer<'de>,
{
    let path = PathBuf::deserialize(deserializer)?;
    expand(&path).map_err(de::Error::custom)
}

/// Expands the path of a setting.
pub(super) fn expand_path(
    setting: impl Into<Cow<'static, str>>,
    path: &Path,
) -> Result<PathBuf, ConfigError> {
    expand(path).map_err(|error| ConfigError::invalid(setting, error.to_string()))
}

/// `env:NAME`, `file:PATH` or a key itself.
pub(super) fn expand_key(
    setting: impl Into<Cow<'static, str>>,
    text: &str,
) -> Result<KeySource, ConfigError> {
    match KeySource::parse(text) {
        KeySource::File(path) => expand_path(setting, &path).map(KeySource::File),
        other => Ok(other),
    }
}
