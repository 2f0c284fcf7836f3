//! Reads keys, without their secrets.

use super::{KeyRecord, SELECT_KEYS};
use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::{Error, ResourceKind, Result};
use crate::page::{PageCursor, PageRequest, RecordPage};
use crate::skills::{ID_COLUMN, paginate};
use crate::tenant::TenantId;

impl Store {
    /// All keys of a tenant, newest first, including revoked ones.
    pub async fn list_keys(&self, tenant: &TenantId) -> Result<Vec<KeyRecord>> {
        let sql = Sql::new(SELECT_KEYS).push_bind("tenant = ", tenant.as_str());
        let rows = self.db().fetch_all(sql.push(" ORDER BY id DESC")).await?;
        rows.iter().map(KeyRecord::from_row).collect()
    }

    /// A page of a tenant's keys, including revoked ones; without a tenant, of all, for the
    /// operator.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn page_of_keys(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> Result<RecordPage<KeyRecord>> {
        let sql = Sql::new(SELECT_KEYS);
        let sql = match tenant {
            Some(tenant) => sql.push_bind("tenant = ", tenant.as_str()),
            None => sql.push("1 = 1"),
        };
        let rows = self.db().fetch_all(paginate(sql, &ID_COLUMN, page)).await?;
        let keys = rows.iter().map(KeyRecord::from_row);
        let keys = keys.collect::<Result<Vec<_>>>()?;
        Ok(RecordPage::from_fetched(keys, page, |key: &KeyRecord| {
            PageCursor::from_id(&key.id)
        }))
    }

    /// A key of a tenant, by its id or its prefix; without a tenant, of any, for the operator.
    ///
    /// # Errors
    /// When there is none.
    pub async fn key(&self, tenant: Option<&TenantId>, key: &str) -> Result<KeyRecord> {
        let row = self.db().fetch_optional(select_one(tenant, key)).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Key, key))?;
        KeyRecord::from_row(&row)
    }
}

/// A key that other transactions cannot change until this one ends.
pub(super) async fn lock_key(
    tx: &mut Tx,
    tenant: Option<&TenantId>,
    key: &str,
) -> Result<KeyRecord> {
    let row = tx
        .fetch_optional(select_one(tenant, key).for_update())
        .await?;
    let row = row.ok_or_else(|| Error::not_found(ResourceKind::Key, key))?;
    KeyRecord::from_row(&row)
}

fn select_one(tenant: Option<&TenantId>, key: &str) -> Sql {
    let sql = Sql::new(SELECT_KEYS).push_bind("(id = ", key);
    let sql = sql.push_bind(" OR prefix = ", key).push(")");
    match tenant {
        Some(tenant) => sql.push_bind(" AND tenant = ", tenant.as_str()),
        None => sql,
    }
}
