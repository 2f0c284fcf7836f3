//! One reading of the configuration for a server that runs.

use std::sync::{Mutex, PoisonError};

use prowess_engine::SandboxHandle;
use prowess_provider::Providers;
use prowess_server::{ConfigReader, ReadConfig, ReloadError, ServerSettings};

use super::fixed_settings::FixedSettings;
use super::source::{ConfigSource, LoadedConfig};
use super::written_keys::WrittenKeys;
use crate::config::{ConfigError, ServerConfig};

/// Reads the configuration of a server again, from where it was read before.
pub struct ConfigFileReader {
    source: ConfigSource,
    sandbox: SandboxHandle,
    adjust: Box<dyn Fn(&mut ServerConfig) + Send + Sync>,
    in_use: Mutex<ConfigInUse>,
}

/// What the server has read last.
struct ConfigInUse {
    written: WrittenKeys,
    fixed: FixedSettings,
    providers: Providers,
}

impl ConfigFileReader {
    /// For a server that began with a configuration, and has these providers and this sandbox.
    pub(crate) fn new(
        source: ConfigSource,
        loaded: &LoadedConfig,
        providers: Providers,
        sandbox: SandboxHandle,
        adjust: impl Fn(&mut ServerConfig) + Send + Sync + 'static,
    ) -> ConfigFileReader {
        let in_use = ConfigInUse {
            written: loaded.written.clone(),
            fixed: loaded.fixed.clone(),
            providers,
        };
        ConfigFileReader {
            source,
            sandbox,
            adjust: Box::new(adjust),
            in_use: Mutex::new(in_use),
        }
    }
}

impl ConfigReader for ConfigFileReader {
    fn read(&self) -> Result<ReadConfig, ReloadError> {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = self.source.load().map_err(|problems| {
            ReloadError::Invalid(problems.iter().map(ToString::to_string).collect())
        })?;
        let LoadedConfig {
            mut config,
            source,
            written,
            fixed,
        } = loaded;
        let changed = in_use.written.differences(&written);
        let needs_restart = in_use.fixed.changes(&fixed, &changed);
        if !needs_restart.is_empty() {
            return Err(ReloadError::NeedsRestart(needs_restart));
        }
        (self.adjust)(&mut config.server);
        let runs = config.run_settings();
        let providers = Providers::new_with_all_errors(config.gateway).map_err(|errors| {
            let errors = errors.into_iter().map(ConfigError::from);
            ReloadError::Invalid(errors.map(|error| error.to_string()).collect())
        })?;
        providers.take_over(&in_use.providers);
        *in_use = ConfigInUse {
            written,
            fixed,
            providers: providers.clone(),
        };
        Ok(ReadConfig {
            settings: ServerSettings {
                providers: Some(providers),
                runs,
                sandbox: self.sandbox.clone(),
                ..config.server.settings
            },
            source,
            changed,
        })
    }
}
