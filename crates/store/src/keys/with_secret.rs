//! Finds a key by one of its secrets, for whoever has shown that secret before.

use super::{KeyRecord, SELECT_KEYS};
use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::tenant::TenantId;
use crate::time::Timestamp;

impl Store {
    /// The key, if it is valid and its secret with this prefix is still accepted. Never from a
    /// cache: a key that was revoked a moment ago is not found.
    pub(crate) async fn key_with_secret(
        &self,
        tenant: &TenantId,
        id: &str,
        prefix: &str,
    ) -> Result<Option<KeyRecord>> {
        let sql = Sql::new(SELECT_KEYS).push_bind("tenant = ", tenant.as_str());
        let sql = sql.push_bind(" AND id = ", id);
        let sql = sql.push_bind(" AND (prefix = ", prefix);
        let sql = sql.push_bind(" OR previous_prefix = ", prefix).push(")");
        let Some(row) = self.db().fetch_optional(sql).await? else {
            return Ok(None);
        };
        let mut key = KeyRecord::from_row(&row)?;
        key.limit_to_secret(prefix);
        Ok(Some(key).filter(|key| key.is_valid(Timestamp::now())))
    }
}
