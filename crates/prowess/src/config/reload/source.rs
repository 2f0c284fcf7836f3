//! Where the configuration is read from: a file, or none, and what overrides it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Table;
use toml::de::DeTable;

use super::fixed_settings::FixedSettings;
use super::written_keys::WrittenKeys;
use crate::config::file::ConfigToml;
use crate::config::problems::first_problem;
use crate::config::{CONFIG_FILE, Config, ConfigError, ConfigOverrides, ConfigProblems, keys};

/// A file, or [`CONFIG_FILE`] if it exists, and what overrides it.
#[derive(Debug, Clone)]
pub struct ConfigSource {
    file: Option<PathBuf>,
    overrides: ConfigOverrides,
}

/// A configuration, and what it is compared with when it is read again.
#[derive(Debug)]
pub struct LoadedConfig {
    /// The checked configuration.
    pub config: Config,
    /// Where it was read, for people.
    pub source: String,
    pub(super) written: WrittenKeys,
    pub(super) fixed: FixedSettings,
}

impl ConfigSource {
    /// The given file, or [`CONFIG_FILE`] if it exists.
    #[must_use]
    pub fn new(file: Option<PathBuf>, overrides: ConfigOverrides) -> ConfigSource {
        ConfigSource { file, overrides }
    }

    /// Reads the file and checks everything, as [`Config::load_all`] does.
    ///
    /// # Errors
    /// All problems that can be found at once.
    pub fn load(&self) -> Result<LoadedConfig, ConfigProblems> {
        let path = self.file.as_deref().unwrap_or(Path::new(CONFIG_FILE));
        let (text, source) = match std::fs::read_to_string(path) {
            Ok(text) => (text, path.display().to_string()),
            Err(error) if self.file.is_none() && error.kind() == ErrorKind::NotFound => (
                String::new(),
                format!("defaults: there is no {CONFIG_FILE}"),
            ),
            Err(error) => return Err(ConfigError::from_io(path, &error).into()),
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        let config = Config::read_all(&text, folder, &self.overrides)
            .map_err(|problems| problems.in_file(path))?;
        let (raw, table) = parse(&text).map_err(ConfigProblems::from)?;
        Ok(LoadedConfig {
            fixed: FixedSettings::new(&config, &raw),
            written: WrittenKeys::of_table(&table),
            source,
            config,
        })
    }

    /// Like [`ConfigSource::load`].
    ///
    /// # Errors
    /// The first problem.
    pub fn load_or_first_problem(&self) -> Result<LoadedConfig, ConfigError> {
        self.load().map_err(first_problem)
    }
}

/// The sections and keys of a text that was checked, by their present names.
fn parse(text: &str) -> Result<(ConfigToml, Table), ConfigError> {
    let mut file = DeTable::parse(text).map_err(|error| ConfigError::from_syntax(text, &error))?;
    // There are no problems; it renames keys that have earlier names.
    keys::check(text, file.get_mut());
    let value_error = |error: toml::de::Error| ConfigError::from_syntax(text, &error);
    let raw = ConfigToml::deserialize(toml::Deserializer::from(file.clone()));
    let table = Table::deserialize(toml::Deserializer::from(file));
    Ok((raw.map_err(value_error)?, table.map_err(value_error)?))
}
