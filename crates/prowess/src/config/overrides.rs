//! Settings from outside the file: arguments and variables.

use std::path::PathBuf;

/// Settings from outside the file, which override it.
#[derive(Debug, Clone, Default)]
pub struct ConfigOverrides {
    /// `--listen`
    pub listen: Option<String>,
    /// `--data-dir`
    pub data_dir: Option<PathBuf>,
    /// `PROWESS_STORE_URL`
    pub store_url: Option<String>,
    /// `PROWESS_MASTER_KEY`
    pub master_key: Option<String>,
}
