//! Changes what a key is called and what it may.

use super::grant::KeyGranter;
use super::list::lock_key;
use super::{KeyRecord, KeyScope, check_name, normalize_scopes};
use crate::Store;
use crate::audit::{AuditAction, AuditChange};
use crate::db::Sql;
use crate::error::{Error, Result};
use crate::key_limits::KeyBudget;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// What is to change; `None` stays. In the fields with two, the inner `None` takes the value
/// away: no limit, no expiry, or as configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyChange {
    /// Its display name.
    pub name: Option<String>,
    /// Its scopes.
    pub scopes: Option<Vec<KeyScope>>,
    /// Patterns of the models it may call; empty for all.
    pub models: Option<Vec<String>>,
    /// Requests per minute.
    pub requests_per_minute: Option<Option<u32>>,
    /// Tokens per minute.
    pub tokens_per_minute: Option<Option<u64>>,
    /// Its budget.
    pub budget: Option<Option<KeyBudget>>,
    /// When it expires.
    pub expires_at: Option<Option<Timestamp>>,
    /// Whether its runs may use all stored skills.
    pub auto: Option<Option<bool>>,
}

impl KeyChange {
    fn apply(&self, before: &KeyRecord) -> Result<KeyRecord> {
        let mut after = before.clone();
        if let Some(name) = &self.name {
            check_name(name)?;
            after.name.clone_from(name);
        }
        if let Some(scopes) = &self.scopes {
            after.scopes = normalize_scopes(scopes)?;
        }
        let limits = &mut after.limits;
        if let Some(models) = &self.models {
            limits.models.clone_from(models);
        }
        if let Some(rate) = self.requests_per_minute {
            limits.requests_per_minute = rate;
        }
        if let Some(rate) = self.tokens_per_minute {
            limits.tokens_per_minute = rate;
        }
        if let Some(budget) = self.budget {
            limits.budget = budget;
        }
        limits.check()?;
        if let Some(expires) = self.expires_at {
            after.expires_at = expires;
        }
        if let Some(auto) = self.auto {
            after.auto = auto;
        }
        Ok(after)
    }
}

impl Store {
    /// Changes a key, by its id or its prefix, and returns it as it is then. It takes effect
    /// here immediately, and elsewhere when cached entries expire.
    ///
    /// # Errors
    /// When there is no such key, it is revoked, a value is invalid, or the granter may not
    /// give this much.
    pub async fn update_key(
        &self,
        tenant: Option<&TenantId>,
        key: &str,
        change: &KeyChange,
        granter: &KeyGranter<'_>,
    ) -> Result<KeyRecord> {
        let mut tx = self.db().begin().await?;
        let before = lock_key(&mut tx, tenant, key).await?;
        if before.revoked_at.is_some() {
            return Err(Error::KeyInactive {
                key: before.id.clone(),
                state: before.state(),
            });
        }
        let after = change.apply(&before)?;
        granter.check_change(&before, &after)?;
        if after == before {
            tx.rollback().await;
            return Ok(before);
        }
        tx.execute(update(&after)).await?;
        let change = AuditChange {
            tenant: &after.tenant,
            action: AuditAction::KeyUpdate,
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

fn update(key: &KeyRecord) -> Sql {
    let sql = Sql::new(
        "UPDATE keys
         SET name = $1, scopes = $2, expires_at = $3, auto = $4, models = $5,
             requests_per_minute = $6, tokens_per_minute = $7, budget_nanos = $8,
             budget_period = $9
         WHERE id = $10",
    )
    .bind(&key.name)
    .bind(key.scope_names().join(" "))
    .bind(key.expires_at)
    .bind(key.auto.map(i64::from));
    key.limits.bind_to(sql).bind(&key.id)
}
