//! Storage quotas per tenant: bytes, and numbers of skills, versions and files. Bytes are those
//! of skills, of files, of the requests of kept runs, and of the files that are stored of the
//! containers of kept runs and of clusters. The skills of a cluster's container are not counted
//! once more: they are bounded by the number of containers.
//!
//! Triggers of the schema maintain the totals, in the transaction that changes what they
//! count. An upload is checked twice: before its content is written, so that nothing is
//! written needlessly, and again in its transaction, where no concurrent upload of the
//! tenant is missed.
//!
//! # Order of locks
//!
//! On PostgreSQL the row of totals is locked by the first write that changes them. A
//! transaction that also locks rows of skills, containers or blobs must lock the totals first
//! ([`lock_totals`]), otherwise two requests of a tenant could deadlock. The row of the tenant itself
//! is before the totals, for who locks it at all: a new file shares it by its foreign key.

use crate::Store;
use crate::db::{Database, DbRow, Sql, Tx};
use crate::error::{Error, Result};
use crate::tenant::TenantId;

/// Storage limits of a tenant; `None` is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageLimits {
    /// Bytes of files, of all versions of skills, and of kept runs.
    pub bytes: Option<u64>,
    /// Files.
    pub files: Option<u64>,
    /// Skills.
    pub skills: Option<u64>,
    /// Versions of all skills together.
    pub versions: Option<u64>,
    /// Keys that are not revoked.
    pub keys: Option<u64>,
}

/// What a tenant stores, or is about to add.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageUsage {
    /// Bytes of files, of all versions of skills, and of kept runs.
    pub bytes: u64,
    /// Files.
    pub files: u64,
    /// Skills.
    pub skills: u64,
    /// Versions of all skills together.
    pub versions: u64,
}

impl StorageLimits {
    /// Refuses an addition that exceeds a limit. Only what is added to is checked: a
    /// tenant with too many files may still upload a skill.
    fn check(&self, used: &StorageUsage, added: &StorageUsage) -> Result<()> {
        for (what, limit, used, more) in [
            ("bytes", self.bytes, used.bytes, added.bytes),
            ("files", self.files, used.files, added.files),
            ("skills", self.skills, used.skills, added.skills),
            (
                "versions of skills",
                self.versions,
                used.versions,
                added.versions,
            ),
        ] {
            let Some(limit) = limit.filter(|_| more > 0) else {
                continue;
            };
            if used.saturating_add(more) > limit {
                return Err(Error::QuotaExceeded {
                    what,
                    limit,
                    used,
                    more,
                });
            }
        }
        Ok(())
    }
}

impl StorageUsage {
    fn from_row(row: &DbRow) -> Result<Self> {
        let count =
            |column| -> Result<u64> { Ok(u64::try_from(row.int(column)?).unwrap_or_default()) };
        Ok(StorageUsage {
            bytes: count("bytes")?,
            files: count("files")?,
            skills: count("skills")?,
            versions: count("versions")?,
        })
    }

    fn without(&self, added: &StorageUsage) -> StorageUsage {
        StorageUsage {
            bytes: self.bytes.saturating_sub(added.bytes),
            files: self.files.saturating_sub(added.files),
            skills: self.skills.saturating_sub(added.skills),
            versions: self.versions.saturating_sub(added.versions),
        }
    }
}

/// How many more bytes a stream may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteAllowance {
    limit: u64,
    used: u64,
}

impl ByteAllowance {
    /// Refuses a stream that has reached this size.
    pub(crate) fn check(&self, size: u64) -> Result<()> {
        if self.used.saturating_add(size) <= self.limit {
            return Ok(());
        }
        Err(Error::QuotaExceeded {
            what: "bytes",
            limit: self.limit,
            used: self.used,
            more: size,
        })
    }
}

impl Store {
    /// What a tenant stores.
    pub async fn storage_usage(&self, tenant: &TenantId) -> Result<StorageUsage> {
        let row = self.db().fetch_optional(select_totals(tenant)).await?;
        row.map_or(Ok(StorageUsage::default()), |row| {
            StorageUsage::from_row(&row)
        })
    }

    /// Refuses an addition that exceeds a limit now; returns how many bytes a stream may
    /// still have.
    pub(crate) async fn check_quota(
        &self,
        tenant: &TenantId,
        added: &StorageUsage,
    ) -> Result<Option<ByteAllowance>> {
        if *self.limits() == StorageLimits::default() {
            return Ok(None);
        }
        let used = self.storage_usage(tenant).await?;
        self.limits().check(&used, added)?;
        Ok(self.limits().bytes.map(|limit| ByteAllowance {
            limit,
            used: used.bytes,
        }))
    }

    /// Refuses what a transaction has just added, if it exceeds a limit.
    pub(crate) async fn check_quota_in_tx(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        added: &StorageUsage,
    ) -> Result<()> {
        if *self.limits() == StorageLimits::default() {
            return Ok(());
        }
        let Some(row) = tx.fetch_optional(select_totals(tenant)).await? else {
            return Ok(());
        };
        let used = StorageUsage::from_row(&row)?.without(added);
        self.limits().check(&used, added)
    }
}

fn select_totals(tenant: &TenantId) -> Sql {
    Sql::new("SELECT bytes, files, skills, versions FROM tenant_storage WHERE tenant = ")
        .push_bind("", tenant.as_str())
}

/// Makes other writers of the tenant's skills and files wait until this transaction ends.
/// On SQLite they always do.
pub(crate) async fn lock_totals(tx: &mut Tx, tenant: &TenantId) -> Result<()> {
    if tx.database() == Database::Postgres {
        tx.fetch_optional(select_totals(tenant).for_update())
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_added_to_is_held_to_its_limit() {
        let limits = StorageLimits {
            bytes: Some(100),
            files: Some(1),
            ..StorageLimits::default()
        };
        let used = StorageUsage {
            bytes: 90,
            files: 5,
            ..StorageUsage::default()
        };
        let version = |bytes| StorageUsage {
            bytes,
            versions: 1,
            ..StorageUsage::default()
        };
        assert!(limits.check(&used, &version(10)).is_ok());
        let error = limits.check(&used, &version(11)).unwrap_err();
        assert_eq!(error.code(), "storage-quota-exceeded");
        assert!(error.to_string().contains("90 of 100 bytes"), "{error}");
        let file = StorageUsage {
            files: 1,
            ..StorageUsage::default()
        };
        assert!(limits.check(&used, &file).is_err());
    }
}
