//! Removes expired containers when somebody wants that.

use prowess_sandbox::Error;

use crate::cluster::ClusterSandboxes;
use crate::expiry;
use crate::store_error::store_error;

impl ClusterSandboxes {
    /// Removes expired containers now.
    pub(crate) async fn expire_now(&self) -> Result<usize, Error> {
        let removed = expiry::remove(&self.store, &self.settings, &self.dispatcher).await;
        removed.map_err(store_error)
    }
}
