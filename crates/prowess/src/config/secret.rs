//! Secrets: literal, or from a variable or a file.

use std::path::Path;

use prowess_provider::SecretText;

use super::error::ConfigError;
use super::paths;

/// `env:NAME`, `file:PATH`, or the secret itself. It is never shown in an error.
pub(super) fn resolve(setting: &'static str, text: &str) -> Result<SecretText, ConfigError> {
    let secret = if let Some(name) = text.strip_prefix("env:") {
        std::env::var(name).map_err(|_| {
            let reason = format!("the environment has no variable `{name}`, or it is not text");
            ConfigError::invalid(setting, reason)
        })?
    } else if let Some(path) = text.strip_prefix("file:") {
        let place = paths::expand_path(setting, Path::new(path))?;
        std::fs::read_to_string(place).map_err(|error| {
            ConfigError::invalid(setting, format!("`{path}` cannot be read: {error}"))
        })?
    } else {
        text.to_owned()
    };
    Ok(SecretText::new(secret.trim()))
}
