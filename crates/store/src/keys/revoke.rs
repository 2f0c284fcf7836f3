//! Revokes keys. A revoked key stays listed: usage and the audit log name it.

use super::KeyRecord;
use super::list::lock_key;
use crate::Store;
use crate::audit::{AuditAction, AuditChange};
use crate::db::Sql;
use crate::error::Result;
use crate::tenant::TenantId;
use crate::time::Timestamp;

impl Store {
    /// Revokes a key, by its id or its prefix. It takes effect here immediately; other
    /// processes may accept the key until their cached entry expires.
    pub async fn revoke_key(&self, tenant: &TenantId, key: &str) -> Result<()> {
        self.revoke_any_key(Some(tenant), key).await.map(drop)
    }

    /// Like [`Store::revoke_key`]; without a tenant, any key, for the operator. Returns the key.
    /// One that was revoked before stays as it is.
    ///
    /// # Errors
    /// When there is no such key.
    pub async fn revoke_any_key(&self, tenant: Option<&TenantId>, key: &str) -> Result<KeyRecord> {
        let mut tx = self.db().begin().await?;
        let before = lock_key(&mut tx, tenant, key).await?;
        if before.revoked_at.is_some() {
            tx.rollback().await;
            return Ok(before);
        }
        let after = KeyRecord {
            revoked_at: Some(Timestamp::now()),
            previous_until: None,
            ..before.clone()
        };
        let sql = Sql::new(
            "UPDATE keys SET revoked_at = $1, previous_prefix = NULL, previous_hash = NULL,
                 previous_until = NULL
             WHERE id = $2",
        );
        tx.execute(sql.bind(after.revoked_at).bind(&after.id))
            .await?;
        let change = AuditChange {
            tenant: &after.tenant,
            action: AuditAction::KeyRevoke,
            object: &after.id,
            before: Some(before.audit_state()),
            after: Some(after.audit_state()),
        };
        self.audit(&mut tx, change).await?;
        tx.commit().await?;
        self.keys_changed(&after.tenant);
        Ok(after)
    }
}
