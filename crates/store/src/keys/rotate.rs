//! Gives a key a new secret. Its id stays, and with it its limits, what it has spent, and its
//! name in usage and in the audit log.

use std::time::Duration;

use super::grant::KeyGranter;
use super::list::lock_key;
use super::{KeyRecord, SecretKey, key_digest};
use crate::Store;
use crate::audit::{AuditAction, AuditChange};
use crate::db::Sql;
use crate::error::{Error, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

impl Store {
    /// Gives a key a new secret, which is only returned here. The secret that it had is
    /// accepted for `grace` longer; one from an earlier rotation is not any more.
    ///
    /// # Errors
    /// When there is no such key, it is revoked or expired, or the granter may not have its
    /// secret.
    pub async fn rotate_key(
        &self,
        tenant: Option<&TenantId>,
        key: &str,
        grace: Duration,
        granter: &KeyGranter<'_>,
    ) -> Result<(KeyRecord, SecretKey)> {
        let (secret, prefix) = SecretKey::generate()?;
        let mut tx = self.db().begin().await?;
        let before = lock_key(&mut tx, tenant, key).await?;
        granter.check_secret(&before)?;
        if !before.is_active() {
            return Err(Error::KeyInactive {
                key: before.id.clone(),
                state: before.state(),
            });
        }
        let until = (!grace.is_zero()).then(|| Timestamp::now().after(grace));
        let after = KeyRecord {
            prefix,
            previous_until: until,
            ..before.clone()
        };
        let sql = Sql::new(
            "UPDATE keys
             SET previous_prefix = CASE WHEN $1 = 1 THEN prefix END,
                 previous_hash = CASE WHEN $1 = 1 THEN hash END,
                 previous_until = $2, prefix = $3, hash = $4
             WHERE id = $5",
        );
        let sql = sql
            .bind(until.is_some())
            .bind(until)
            .bind(&after.prefix)
            .bind(key_digest(secret.reveal()).hex())
            .bind(&after.id);
        tx.execute(sql).await?;
        let change = AuditChange {
            tenant: &after.tenant,
            action: AuditAction::KeyRotate,
            object: &after.id,
            before: Some(before.audit_state()),
            after: Some(after.audit_state()),
        };
        self.audit(&mut tx, change).await?;
        tx.commit().await?;
        self.keys_changed(&after.tenant);
        Ok((after, secret))
    }
}
