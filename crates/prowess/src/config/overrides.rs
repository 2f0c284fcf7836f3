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
    /// `--reduced`: code runs even if this host supports only a reduced sandbox. It is accepted
    /// whatever the file says.
    pub reduced: bool,
}

impl ConfigOverrides {
    /// Whether this setting comes from outside the file.
    pub(super) fn sets(&self, setting: &str) -> bool {
        match setting {
            "server.listen" => self.listen.is_some(),
            "server.data_dir" => self.data_dir.is_some(),
            "server.master_key" => self.master_key.is_some(),
            "store.url" => self.store_url.is_some(),
            "sandbox.reduced" => self.reduced,
            _ => false,
        }
    }
}
