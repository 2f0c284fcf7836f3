//! Deletion. The vendors' API generations differ in special cases, so the caller selects
//! the rule.

use super::default_version::lock_skill;
use super::labels::labels_of_version;
use super::latest::update_latest;
use super::read::{skill_in_tx, version_in_tx};
use super::revoke::describe_uses;
use super::{SkillRecord, VersionRecord, VersionSelector};
use crate::Store;
use crate::blob::touch_version_blobs;
use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::quota;
use crate::skill_index::{IndexChange, remove_document};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// What deleting a skill does to its versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillDeleteRule {
    /// They are deleted with it (Anthropic since general availability, OpenAI).
    Cascade,
    /// They must have been deleted before (Anthropic's beta).
    OnlyEmpty,
}

/// Rules for deleting a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionDeleteRule {
    /// What happens if it is the only one.
    pub last: LastVersionRule,
    /// Refuse to delete the default version while there are others.
    pub keep_default: bool,
}

/// What happens to the only version of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastVersionRule {
    /// It cannot be deleted.
    Refuse,
    /// It is deleted, and the skill is left without versions.
    LeaveEmpty,
    /// It is deleted together with the skill.
    DeleteSkill,
}

impl VersionDeleteRule {
    /// Anthropic since general availability.
    pub const ANTHROPIC: VersionDeleteRule = VersionDeleteRule {
        last: LastVersionRule::Refuse,
        keep_default: false,
    };
    /// Anthropic's beta.
    pub const ANTHROPIC_BETA: VersionDeleteRule = VersionDeleteRule {
        last: LastVersionRule::LeaveEmpty,
        keep_default: false,
    };
    /// OpenAI.
    pub const OPENAI: VersionDeleteRule = VersionDeleteRule {
        last: LastVersionRule::DeleteSkill,
        keep_default: true,
    };
}

/// A version that was deleted.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletedVersion {
    /// Its last state.
    pub version: VersionRecord,
    /// Whether its skill was deleted too.
    pub skill_deleted: bool,
}

impl Store {
    /// Deletes a skill. Returns its last state.
    pub async fn delete_skill(
        &self,
        tenant: &TenantId,
        skill: &str,
        rule: SkillDeleteRule,
    ) -> Result<SkillRecord> {
        let mut tx = self.db().begin().await?;
        quota::lock_totals(&mut tx, tenant).await?;
        lock_skill(&mut tx, tenant, skill).await?;
        let record = skill_in_tx(&mut tx, tenant, skill).await?;
        let versions = version_ids(&mut tx, skill).await?;
        if rule == SkillDeleteRule::OnlyEmpty && !versions.is_empty() {
            return Err(Error::HasVersions {
                skill: skill.to_owned(),
                versions: versions.len() as i64,
            });
        }
        let now = Timestamp::now();
        for version in &versions {
            touch_version_blobs(&mut tx, version, now).await?;
        }
        let change = remove_skill(&mut tx, tenant, skill).await?;
        self.audit_skill_deleted(&mut tx, tenant, &record, versions.len())
            .await?;
        tx.commit().await?;
        self.skills_changed(tenant);
        self.merge_soon(tenant, change);
        Ok(record)
    }

    /// Deletes a version. If it was the default, the latest of the others becomes the
    /// default. One that labels point to is not deleted.
    pub async fn delete_version(
        &self,
        tenant: &TenantId,
        skill: &str,
        selector: &VersionSelector,
        rule: VersionDeleteRule,
    ) -> Result<DeletedVersion> {
        let mut tx = self.db().begin().await?;
        quota::lock_totals(&mut tx, tenant).await?;
        lock_skill(&mut tx, tenant, skill).await?;
        let Some(version) = version_in_tx(&mut tx, tenant, skill, selector).await? else {
            tx.rollback().await;
            return Err(self.missing_version_error(tenant, skill, selector).await);
        };
        let only = version_ids(&mut tx, skill).await?.len() == 1;
        let record = skill_in_tx(&mut tx, tenant, skill).await?;
        check_rule(&record, &version, only, rule)?;
        check_unlabelled(&mut tx, &version).await?;
        let now = Timestamp::now();
        touch_version_blobs(&mut tx, &version.id, now).await?;
        let skill_deleted = only && rule.last == LastVersionRule::DeleteSkill;
        let change = if skill_deleted {
            remove_skill(&mut tx, tenant, skill).await?
        } else {
            let sql = Sql::new("DELETE FROM versions WHERE id = $1");
            tx.execute(sql.bind(&version.id)).await?;
            update_latest(&mut tx, tenant, &record, now).await?
        };
        self.audit_version_deleted(&mut tx, tenant, &version, skill_deleted)
            .await?;
        tx.commit().await?;
        self.skills_changed(tenant);
        self.merge_soon(tenant, change);
        Ok(DeletedVersion {
            version,
            skill_deleted,
        })
    }
}

fn check_rule(
    skill: &SkillRecord,
    version: &VersionRecord,
    only: bool,
    rule: VersionDeleteRule,
) -> Result<()> {
    let is_default = skill.default.as_ref().is_some_and(|d| d.id == version.id);
    if only && rule.last == LastVersionRule::Refuse {
        return Err(Error::LastVersion {
            skill: skill.id.clone(),
            version: version.id.clone(),
        });
    }
    if !only && is_default && rule.keep_default {
        return Err(Error::DefaultVersion {
            skill: skill.id.clone(),
            version: version.ordinal.to_string(),
        });
    }
    Ok(())
}

/// Labels never disappear with their version.
async fn check_unlabelled(tx: &mut Tx, version: &VersionRecord) -> Result<()> {
    let labels = labels_of_version(tx, &version.id).await?;
    if labels.is_empty() {
        return Ok(());
    }
    Err(Error::VersionInUse {
        skill: version.skill.clone(),
        version: version.ordinal,
        uses: describe_uses(false, &labels),
        remedy: "move or delete its labels first",
    })
}

async fn version_ids(tx: &mut Tx, skill: &str) -> Result<Vec<String>> {
    let sql = Sql::new("SELECT id FROM versions WHERE skill = $1 ORDER BY id");
    let rows = tx.fetch_all(sql.bind(skill)).await?;
    rows.iter().map(|row| row.text("id")).collect()
}

/// Versions and references are deleted with it, by foreign keys.
async fn remove_skill(tx: &mut Tx, tenant: &TenantId, skill: &str) -> Result<IndexChange> {
    let change = remove_document(tx, tenant, skill).await?;
    let sql = Sql::new("DELETE FROM skills WHERE id = $1");
    tx.execute(sql.bind(skill)).await?;
    Ok(change)
}
