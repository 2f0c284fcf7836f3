//! Arguments of the commands that read the configuration.

use std::path::PathBuf;

use prowess::config::reload::ConfigSource;
use prowess::config::{Config, ConfigOverrides};

use crate::paths;

/// Configuration file and data directory.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// Configuration file; default: prowess.toml in the current folder, if it exists
    #[arg(long, value_name = "FILE", env = "PROWESS_CONFIG", value_parser = paths::path_parser())]
    config: Option<PathBuf>,
    /// Data directory (database, files, sandboxes)
    #[arg(long, value_name = "FOLDER", env = "PROWESS_DATA_DIR", value_parser = paths::path_parser())]
    data_dir: Option<PathBuf>,
}

impl ConfigArgs {
    /// Loads and checks the configuration.
    pub(crate) fn load(&self, listen: Option<String>) -> anyhow::Result<Config> {
        let overrides = self.overrides(listen);
        Ok(Config::load(self.config.as_deref(), &overrides)?)
    }

    /// Where the configuration is read from, to read it more than once.
    pub(crate) fn source(&self, listen: Option<String>, reduced: bool) -> ConfigSource {
        let overrides = ConfigOverrides {
            reduced,
            ..self.overrides(listen)
        };
        ConfigSource::new(self.config.clone(), overrides)
    }

    fn overrides(&self, listen: Option<String>) -> ConfigOverrides {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let in_file = || set("PROWESS_MASTER_KEY_FILE").map(|path| format!("file:{path}"));
        ConfigOverrides {
            listen,
            data_dir: self.data_dir.clone(),
            store_url: set("PROWESS_STORE_URL"),
            master_key: set("PROWESS_MASTER_KEY").or_else(in_file),
            reduced: false,
        }
    }
}
