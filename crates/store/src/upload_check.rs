//! Files on their way in. A file may be kept elsewhere until the request that brings it has
//! ended; what could not be kept in the end is refused before that, as far as it can be seen.

use crate::Store;
use crate::error::Result;
use crate::quota::StorageUsage;
use crate::tenant::TenantId;

impl Store {
    /// Refuses one more file of a tenant, of which so many bytes are known to come, when
    /// the tenant may not keep it or this machine has no room for it.
    pub async fn check_new_file(&self, tenant: &TenantId, bytes: u64) -> Result<()> {
        self.check_space(bytes)?;
        let added = StorageUsage {
            bytes,
            files: 1,
            ..StorageUsage::default()
        };
        self.check_quota(tenant, &added).await.map(drop)
    }

    /// Refuses so many more bytes when this machine has no room for them.
    pub fn check_space(&self, bytes: u64) -> Result<()> {
        self.disk_space().check(bytes)
    }
}
