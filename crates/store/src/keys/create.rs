//! Creates keys.

use super::grant::KeyGranter;
use super::{KeyRecord, NewKey, SecretKey, check_name, key_digest, normalize_scopes};
use crate::Store;
use crate::audit::{AuditAction, AuditChange};
use crate::db::{Database, Sql, Tx};
use crate::error::{Error, Result};
use crate::id::{self, IdPrefix};
use crate::key_limits::KeyLimits;
use crate::tenant::TenantId;
use crate::time::Timestamp;

impl Store {
    /// Creates a key without limits, for the operator. The key is only returned here.
    pub async fn create_key(
        &self,
        tenant: &TenantId,
        new: &NewKey<'_>,
    ) -> Result<(KeyRecord, SecretKey)> {
        let limits = KeyLimits::default();
        self.create_limited_key(tenant, new, &limits).await
    }

    /// Creates a key with limits, for the operator. The key is only returned here.
    pub async fn create_limited_key(
        &self,
        tenant: &TenantId,
        new: &NewKey<'_>,
        limits: &KeyLimits,
    ) -> Result<(KeyRecord, SecretKey)> {
        self.create_granted_key(tenant, new, limits, &KeyGranter::Operator)
            .await
    }

    /// Creates a key with limits. The key is only returned here.
    ///
    /// # Errors
    /// When a value is invalid, the tenant is unknown or has too many keys, or the granter may
    /// not give this much.
    pub async fn create_granted_key(
        &self,
        tenant: &TenantId,
        new: &NewKey<'_>,
        limits: &KeyLimits,
        granter: &KeyGranter<'_>,
    ) -> Result<(KeyRecord, SecretKey)> {
        check_name(new.name)?;
        limits.check()?;
        let scopes = normalize_scopes(new.scopes)?;
        let (secret, prefix) = SecretKey::generate()?;
        let now = Timestamp::now();
        let key = KeyRecord {
            id: id::new_id(IdPrefix::Key, now)?,
            tenant: tenant.clone(),
            name: new.name.to_owned(),
            prefix,
            scopes,
            limits: limits.clone(),
            auto: new.auto,
            created_at: now,
            last_used_at: None,
            expires_at: new.expires_in.map(|time| now.after(time)),
            revoked_at: None,
            previous_until: None,
        };
        granter.check_new(&key)?;
        let mut tx = self.db().begin().await?;
        self.check_key_count(&mut tx, tenant).await?;
        let inserted = tx.execute(insert(&key, &secret)).await;
        tenant.map_unknown_tenant(inserted)?;
        let change = AuditChange {
            tenant,
            action: AuditAction::KeyCreate,
            object: &key.id,
            before: None,
            after: Some(key.audit_state()),
        };
        self.audit(&mut tx, change).await?;
        tx.commit().await?;
        Ok((key, secret))
    }

    /// Refuses a key beyond the limit of its tenant. Concurrent requests wait for one another.
    async fn check_key_count(&self, tx: &mut Tx, tenant: &TenantId) -> Result<()> {
        let Some(limit) = self.limits().keys else {
            return Ok(());
        };
        if tx.database() == Database::Postgres {
            let sql = Sql::new("SELECT id FROM tenants WHERE id = ");
            tx.fetch_optional(sql.push_bind("", tenant.as_str()).for_update())
                .await?;
        }
        let sql = Sql::new("SELECT COUNT(*) AS number FROM keys WHERE tenant = ");
        let sql = sql.push_bind("", tenant.as_str());
        let row = tx
            .fetch_optional(sql.push(" AND revoked_at IS NULL"))
            .await?;
        let used = row.map_or(Ok(0), |row| row.int("number"))?;
        let used = u64::try_from(used).unwrap_or_default();
        if used < limit {
            return Ok(());
        }
        Err(Error::QuotaExceeded {
            what: "keys",
            limit,
            used,
            more: 1,
        })
    }
}

fn insert(key: &KeyRecord, secret: &SecretKey) -> Sql {
    let sql = Sql::new(
        "INSERT INTO keys (id, tenant, name, prefix, hash, scopes, created_at, expires_at,
             auto, models, requests_per_minute, tokens_per_minute, budget_nanos, budget_period)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    )
    .bind(&key.id)
    .bind(key.tenant.as_str())
    .bind(&key.name)
    .bind(&key.prefix)
    .bind(key_digest(secret.reveal()).hex())
    .bind(key.scope_names().join(" "))
    .bind(key.created_at)
    .bind(key.expires_at)
    .bind(key.auto.map(i64::from));
    key.limits.bind_to(sql)
}
