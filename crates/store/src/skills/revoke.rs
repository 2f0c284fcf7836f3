//! Revoking a version and restoring it. A revoked version stays stored and can be read, but
//! nothing can use it: `latest`, the default and labels never lead to it while another version
//! can be used.

use super::default_version::lock_skill;
use super::labels::{labels_of_version, move_labels};
use super::latest::update_latest;
use super::read::{skill_in_tx, version_in_tx};
use super::{Revocation, SkillRecord, VersionRecord, VersionSelector};
use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::quota;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Characters of a reason.
const MAX_REASON_CHARS: usize = 1_000;

/// How a version is to be revoked.
#[derive(Debug, Clone)]
pub struct NewRevocation<'a> {
    /// Why. Whoever requests the version reads it.
    pub reason: &'a str,
    /// Where the default and the labels that point to it move, in the same transaction.
    pub move_to: Option<&'a VersionSelector>,
    /// Labels that the caller may not move.
    pub locked_labels: &'a [String],
}

impl Store {
    /// Revokes a version. One that is revoked already gets another reason.
    ///
    /// # Errors
    /// When there is no such version; or when it is the default or has labels, and they are not
    /// moved. The last version that can be used stays the default.
    pub async fn revoke_version(
        &self,
        tenant: &TenantId,
        skill: &str,
        selector: &VersionSelector,
        new: &NewRevocation<'_>,
    ) -> Result<VersionRecord> {
        let revoked = Revocation {
            reason: check_reason(new.reason)?.to_owned(),
            at: Timestamp::now(),
        };
        let mut tx = self.db().begin().await?;
        quota::lock_totals(&mut tx, tenant).await?;
        lock_skill(&mut tx, tenant, skill).await?;
        let Some(version) = version_in_tx(&mut tx, tenant, skill, selector).await? else {
            tx.rollback().await;
            return Err(self.missing_version_error(tenant, skill, selector).await);
        };
        let before = skill_in_tx(&mut tx, tenant, skill).await?;
        let moved = self
            .move_uses(&mut tx, tenant, &before, &version, new)
            .await?;
        let sql = Sql::new(
            "INSERT INTO version_marks (version, revoked_at, revoked_reason) VALUES ($1, $2, $3)
             ON CONFLICT (version) DO UPDATE
             SET revoked_at = excluded.revoked_at, revoked_reason = excluded.revoked_reason",
        );
        let sql = sql.bind(&version.id).bind(revoked.at);
        tx.execute(sql.bind(&revoked.reason)).await?;
        let change = update_latest(&mut tx, tenant, &before, revoked.at).await?;
        let after = VersionRecord {
            revoked: Some(revoked),
            ..version.clone()
        };
        self.audit_revoked(&mut tx, tenant, &version, &after, moved.as_ref())
            .await?;
        tx.commit().await?;
        self.skills_changed(tenant);
        self.merge_soon(tenant, change);
        self.new_documents().notify_one();
        Ok(after)
    }

    /// Lets a version be used again. The default and labels stay where they are; `latest` may
    /// lead to it again.
    ///
    /// # Errors
    /// When there is no such version.
    pub async fn restore_version(
        &self,
        tenant: &TenantId,
        skill: &str,
        selector: &VersionSelector,
    ) -> Result<VersionRecord> {
        let mut tx = self.db().begin().await?;
        quota::lock_totals(&mut tx, tenant).await?;
        lock_skill(&mut tx, tenant, skill).await?;
        let Some(version) = version_in_tx(&mut tx, tenant, skill, selector).await? else {
            tx.rollback().await;
            return Err(self.missing_version_error(tenant, skill, selector).await);
        };
        if version.revoked.is_none() {
            tx.rollback().await;
            return Ok(version);
        }
        let before = skill_in_tx(&mut tx, tenant, skill).await?;
        let sql = Sql::new(
            "UPDATE version_marks SET revoked_at = NULL, revoked_reason = NULL WHERE version = $1",
        );
        tx.execute(sql.bind(&version.id)).await?;
        let change = update_latest(&mut tx, tenant, &before, Timestamp::now()).await?;
        let after = VersionRecord {
            revoked: None,
            ..version.clone()
        };
        self.audit_restored(&mut tx, tenant, &version, &after)
            .await?;
        tx.commit().await?;
        self.skills_changed(tenant);
        self.merge_soon(tenant, change);
        self.new_documents().notify_one();
        Ok(after)
    }

    /// Moves the default and the labels away from a version, if any point to it. Returns where.
    async fn move_uses(
        &self,
        tx: &mut Tx,
        tenant: &TenantId,
        skill: &SkillRecord,
        version: &VersionRecord,
        new: &NewRevocation<'_>,
    ) -> Result<Option<VersionRecord>> {
        let labels = labels_of_version(tx, &version.id).await?;
        let is_default = skill.default.as_ref().is_some_and(|it| it.id == version.id)
            && has_other_usable(tx, version).await?;
        if labels.is_empty() && !is_default {
            return Ok(None);
        }
        let Some(selector) = new.move_to else {
            return Err(Error::VersionInUse {
                skill: skill.id.clone(),
                version: version.ordinal,
                uses: describe_uses(is_default, &labels),
                remedy: "move them to another version first, or say with `move_to` which one; a \
                         label may also be deleted",
            });
        };
        if let Some(label) = labels.iter().find(|name| new.locked_labels.contains(name)) {
            return Err(Error::LabelProtected {
                skill: skill.id.clone(),
                label: label.clone(),
            });
        }
        let invalid = |reason: String| Error::Invalid {
            field: "move_to",
            reason,
        };
        let target = version_in_tx(tx, tenant, &skill.id, selector).await?;
        let target = target.ok_or_else(|| {
            let reason = format!("skill `{}` has no version `{selector}`", skill.id);
            invalid(reason)
        })?;
        target.check_usable()?;
        if target.id == version.id {
            let reason = "it is the version that is to be revoked; name another one";
            return Err(invalid(reason.to_owned()));
        }
        let now = Timestamp::now();
        move_labels(tx, &version.id, &target.id, now).await?;
        if is_default {
            let sql = Sql::new("UPDATE skills SET default_version = $1 WHERE id = $2");
            tx.execute(sql.bind(&target.id).bind(&skill.id)).await?;
        }
        Ok(Some(target))
    }
}

/// `the default, label production and label staging`.
pub(super) fn describe_uses(is_default: bool, labels: &[String]) -> String {
    let default = is_default.then(|| "the default".to_owned());
    let labels = labels.iter().map(|label| format!("label `{label}`"));
    let uses: Vec<String> = default.into_iter().chain(labels).collect();
    match uses.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => uses.concat(),
    }
}

async fn has_other_usable(tx: &mut Tx, version: &VersionRecord) -> Result<bool> {
    let sql = Sql::new("SELECT id FROM versions LEFT JOIN version_marks ON version = id");
    let sql = sql.push_bind(" WHERE skill = ", &version.skill);
    let sql = sql.push_bind(" AND id <> ", &version.id);
    let found = tx
        .fetch_optional(sql.push(" AND revoked_at IS NULL LIMIT 1"))
        .await?;
    Ok(found.is_some())
}

fn check_reason(reason: &str) -> Result<&str> {
    let reason = reason.trim();
    let length = reason.chars().count();
    if (1..=MAX_REASON_CHARS).contains(&length) && !reason.chars().any(char::is_control) {
        return Ok(reason);
    }
    Err(Error::Invalid {
        field: "reason",
        reason: format!(
            "a reason is one line of 1 to {MAX_REASON_CHARS} characters: whoever requests the \
             version reads it"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_of_a_version_are_named() {
        let labels = ["production".to_owned(), "staging".to_owned()];
        let uses = describe_uses(true, &labels);
        assert_eq!(uses, "the default, label `production` and label `staging`");
        assert_eq!(describe_uses(false, &labels[..1]), "label `production`");
        assert_eq!(describe_uses(true, &[]), "the default");
    }
}
