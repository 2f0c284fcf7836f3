//! Checks before an upload. A file may be spooled elsewhere until its request has ended;
//! what could not be stored is refused before that, as far as it is known.

use crate::Store;
use crate::error::Result;
use crate::quota::StorageUsage;
use crate::tenant::TenantId;

impl Store {
    /// Refuses another file of a tenant, of which this many bytes are expected, if the
    /// tenant's quota or the free space does not allow it.
    pub async fn check_new_file(&self, tenant: &TenantId, bytes: u64) -> Result<()> {
        self.check_space(bytes)?;
        let added = StorageUsage {
            bytes,
            files: 1,
            ..StorageUsage::default()
        };
        self.check_quota(tenant, &added).await.map(drop)
    }

    /// Refuses this many more bytes if there is not enough free space.
    pub fn check_space(&self, bytes: u64) -> Result<()> {
        self.disk_space().check(bytes)
    }
}
