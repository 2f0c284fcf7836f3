//! Which packages workers have installed lately.

use std::time::Duration;

use tokio::time::Instant;

use crate::recent::RecentMap;

/// How long it is believed that requirements can be installed.
const REMEMBERED_FOR: Duration = Duration::from_secs(10 * 60);
/// Requirements that are remembered.
const MAX_REMEMBERED: usize = 1_000;

/// Requirements that a worker has installed for a tenant, and what was not installed of them.
#[derive(Debug)]
pub(crate) struct InstalledLayers(RecentMap<String, (Instant, Option<String>)>);

impl Default for InstalledLayers {
    fn default() -> Self {
        Self(RecentMap::new(MAX_REMEMBERED))
    }
}

impl InstalledLayers {
    /// What was not installed of requirements that were installed lately.
    pub(crate) fn get(&self, key: &str) -> Option<Option<String>> {
        let (installed, remark) = self.0.get(key)?;
        (installed.elapsed() < REMEMBERED_FOR).then_some(remark)
    }

    /// Requirements were installed.
    pub(crate) fn add(&self, key: String, remark: Option<String>) {
        self.0.insert(key, (Instant::now(), remark), 1);
    }
}
