//! The default version, used when none is named.

use super::read::{skill_in_tx, version_in_tx};
use super::{SkillRecord, VersionSelector};
use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::{Error, ResourceKind, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

impl Store {
    /// Makes a version the default of its skill.
    ///
    /// # Errors
    /// When there is no such version, or it is revoked.
    pub async fn set_default_version(
        &self,
        tenant: &TenantId,
        skill: &str,
        selector: &VersionSelector,
    ) -> Result<SkillRecord> {
        let mut tx = self.db().begin().await?;
        lock_skill(&mut tx, tenant, skill).await?;
        let Some(found) = version_in_tx(&mut tx, tenant, skill, selector).await? else {
            tx.rollback().await;
            return Err(self.missing_version_error(tenant, skill, selector).await);
        };
        found.check_usable()?;
        let before = skill_in_tx(&mut tx, tenant, skill).await?;
        let sql = Sql::new("UPDATE skills SET default_version = $1, updated_at = $2 WHERE id = $3");
        let sql = sql.bind(&found.id).bind(Timestamp::now());
        tx.execute(sql.bind(skill)).await?;
        let skill = skill_in_tx(&mut tx, tenant, skill).await?;
        self.audit_default(&mut tx, tenant, &before, &skill).await?;
        tx.commit().await?;
        self.skills_changed(tenant);
        Ok(skill)
    }
}

/// Makes other writers of a skill wait until this transaction ends.
pub(super) async fn lock_skill(tx: &mut Tx, tenant: &TenantId, skill: &str) -> Result<()> {
    let sql = Sql::new("SELECT id FROM skills WHERE id = $1 AND tenant = $2").for_update();
    match tx
        .fetch_optional(sql.bind(skill).bind(tenant.as_str()))
        .await?
    {
        Some(_) => Ok(()),
        None => Err(Error::not_found(ResourceKind::Skill, skill)),
    }
}
