//! What a tenant may keep: bytes of skills and files, and how many of each.
//!
//! Totals are kept by triggers of the schema, in the transaction that changes what
//! they count. An upload is checked twice: before its content is written, so that
//! nothing is written in vain, and again in its transaction, where no other upload of
//! the tenant can be overlooked.
//!
//! # Order of locks
//!
//! On PostgreSQL the row of totals is locked by the first write that changes them.
//! Whoever also locks rows of skills or blobs must have locked the totals before
//! ([`lock`]), or two of a tenant's requests could wait for each other.

use crate::Store;
use crate::db::{Database, DbRow, Sql, Tx};
use crate::error::{Error, Result};
use crate::tenant::TenantId;

/// The most that one tenant may keep; nothing is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageLimits {
    /// Bytes of files and of all versions of skills.
    pub bytes: Option<u64>,
    /// Files.
    pub files: Option<u64>,
    /// Skills.
    pub skills: Option<u64>,
    /// Versions of all skills together.
    pub versions: Option<u64>,
}

/// What a tenant keeps, or is about to add.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageUsage {
    /// Bytes of files and of all versions of skills.
    pub bytes: u64,
    /// Files.
    pub files: u64,
    /// Skills.
    pub skills: u64,
    /// Versions of all skills together.
    pub versions: u64,
}

impl StorageLimits {
    /// Refuses what does not fit. Only what is added to is looked at: who keeps too
    /// many files may still upload a skill.
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

/// How many more bytes a stream may bring, and what is said when it brings more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByteAllowance {
    limit: u64,
    used: u64,
}

impl ByteAllowance {
    /// Refuses a stream that has come to this size.
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
    /// What a tenant keeps.
    pub async fn storage_usage(&self, tenant: &TenantId) -> Result<StorageUsage> {
        let row = self.db().fetch_optional(select_totals(tenant)).await?;
        row.map_or(Ok(StorageUsage::default()), |row| {
            StorageUsage::from_row(&row)
        })
    }

    /// Refuses what does not fit as things are now; gives what a stream may still bring.
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

    /// Refuses what a transaction has just added, if it was too much.
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

/// Makes other writers of the tenant's skills and files wait until this transaction
/// ends. SQLite's writers always do.
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
