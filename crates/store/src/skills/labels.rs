//! Labels: names that point to one version of a skill, and can be moved. A label is moved by one
//! statement, so that every request sees it at one of the two versions.

use std::collections::HashMap;

use super::default_version::lock_skill;
use super::read::version_in_tx;
use super::{LabelName, VersionSelector};
use crate::Store;
use crate::db::{Db, DbRow, Sql, Tx};
use crate::error::{Error, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// Labels of one skill.
const MAX_LABELS: i64 = 50;

/// A label of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelRecord {
    /// The skill: `skill_…`.
    pub skill: String,
    /// Its name.
    pub name: String,
    /// The version that it points to: `skver_…`.
    pub version_id: String,
    /// The ordinal of that version.
    pub ordinal: i64,
    /// When it was set or moved.
    pub updated_at: Timestamp,
}

impl LabelRecord {
    fn from_row(row: &DbRow) -> Result<Self> {
        Ok(LabelRecord {
            skill: row.text("skill")?,
            name: row.text("name")?,
            version_id: row.text("version")?,
            ordinal: row.int("ordinal")?,
            updated_at: row.time("updated_at")?,
        })
    }
}

impl Store {
    /// The labels of some of the tenant's skills, by skill, sorted by name. Skills without labels
    /// and those of others are left out.
    pub async fn skill_labels(
        &self,
        tenant: &TenantId,
        skills: &[&str],
    ) -> Result<HashMap<String, Vec<LabelRecord>>> {
        let mut labels: HashMap<String, Vec<LabelRecord>> = HashMap::new();
        if skills.is_empty() {
            return Ok(labels);
        }
        for row in self.db().fetch_all(select_labels(tenant, skills)).await? {
            let label = LabelRecord::from_row(&row)?;
            labels.entry(label.skill.clone()).or_default().push(label);
        }
        Ok(labels)
    }

    /// The labels of one skill, sorted by name.
    ///
    /// # Errors
    /// When there is no such skill.
    pub async fn labels_of_skill(
        &self,
        tenant: &TenantId,
        skill: &str,
    ) -> Result<Vec<LabelRecord>> {
        self.skill(tenant, skill).await?;
        labels_of(self.db(), tenant, skill).await
    }

    /// Makes a label point to a version: creates it, or moves it.
    ///
    /// # Errors
    /// When there is no such version, it is revoked, or the skill has too many labels.
    pub async fn set_label(
        &self,
        tenant: &TenantId,
        skill: &str,
        name: &LabelName,
        selector: &VersionSelector,
    ) -> Result<LabelRecord> {
        let mut tx = self.db().begin().await?;
        lock_skill(&mut tx, tenant, skill).await?;
        let Some(version) = version_in_tx(&mut tx, tenant, skill, selector).await? else {
            tx.rollback().await;
            return Err(self.missing_version_error(tenant, skill, selector).await);
        };
        version.check_usable()?;
        let before = label_in_tx(&mut tx, tenant, skill, name).await?;
        if before.is_none() {
            check_label_count(&mut tx, skill).await?;
        }
        let label = LabelRecord {
            skill: skill.to_owned(),
            name: name.as_str().to_owned(),
            version_id: version.id.clone(),
            ordinal: version.ordinal,
            updated_at: Timestamp::now(),
        };
        let sql = Sql::new(
            "INSERT INTO skill_labels (skill, name, version, updated_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (skill, name) DO UPDATE
             SET version = excluded.version, updated_at = excluded.updated_at",
        );
        let sql = sql.bind(skill).bind(name.as_str()).bind(&version.id);
        tx.execute(sql.bind(label.updated_at)).await?;
        self.audit_label(&mut tx, tenant, before.as_ref(), Some(&label))
            .await?;
        tx.commit().await?;
        self.skills_changed(tenant);
        Ok(label)
    }

    /// Deletes a label. Returns its last state.
    ///
    /// # Errors
    /// When the skill has no such label.
    pub async fn delete_label(
        &self,
        tenant: &TenantId,
        skill: &str,
        name: &LabelName,
    ) -> Result<LabelRecord> {
        let mut tx = self.db().begin().await?;
        lock_skill(&mut tx, tenant, skill).await?;
        let Some(label) = label_in_tx(&mut tx, tenant, skill, name).await? else {
            tx.rollback().await;
            return Err(self.missing_label_error(tenant, skill, name).await);
        };
        let sql = Sql::new("DELETE FROM skill_labels WHERE skill = $1 AND name = $2");
        tx.execute(sql.bind(skill).bind(name.as_str())).await?;
        self.audit_label(&mut tx, tenant, Some(&label), None)
            .await?;
        tx.commit().await?;
        self.skills_changed(tenant);
        Ok(label)
    }

    /// The error of a label that a skill does not have, with those that it has.
    pub(super) async fn missing_label_error(
        &self,
        tenant: &TenantId,
        skill: &str,
        name: &LabelName,
    ) -> Error {
        match labels_of(self.db(), tenant, skill).await {
            Err(error) => error,
            Ok(labels) => Error::LabelNotFound {
                skill: skill.to_owned(),
                label: name.as_str().to_owned(),
                labels: labels.into_iter().map(|label| label.name).collect(),
            },
        }
    }
}

/// The labels of a version, sorted by name.
pub(super) async fn labels_of_version(tx: &mut Tx, version: &str) -> Result<Vec<String>> {
    let sql = Sql::new("SELECT name FROM skill_labels WHERE version = $1 ORDER BY name");
    let rows = tx.fetch_all(sql.bind(version)).await?;
    rows.iter().map(|row| row.text("name")).collect()
}

/// Moves all labels of a version to another one of its skill.
pub(super) async fn move_labels(tx: &mut Tx, from: &str, to: &str, now: Timestamp) -> Result<()> {
    let sql = Sql::new("UPDATE skill_labels SET version = $1, updated_at = $2 WHERE version = $3");
    tx.execute(sql.bind(to).bind(now).bind(from))
        .await
        .map(drop)
}

async fn labels_of(db: &Db, tenant: &TenantId, skill: &str) -> Result<Vec<LabelRecord>> {
    let rows = db.fetch_all(select_labels(tenant, &[skill])).await?;
    rows.iter().map(LabelRecord::from_row).collect()
}

async fn label_in_tx(
    tx: &mut Tx,
    tenant: &TenantId,
    skill: &str,
    name: &LabelName,
) -> Result<Option<LabelRecord>> {
    let rows = tx.fetch_all(select_labels(tenant, &[skill])).await?;
    let labels = rows.iter().map(LabelRecord::from_row);
    let labels: Vec<LabelRecord> = labels.collect::<Result<_>>()?;
    Ok(labels.into_iter().find(|label| label.name == name.as_str()))
}

async fn check_label_count(tx: &mut Tx, skill: &str) -> Result<()> {
    let sql = Sql::new("SELECT COUNT(*) AS labels FROM skill_labels WHERE skill = $1");
    let row = tx.fetch_optional(sql.bind(skill)).await?;
    let labels = row.map_or(Ok(0), |row| row.int("labels"))?;
    if labels < MAX_LABELS {
        return Ok(());
    }
    Err(Error::TooManyLabels {
        skill: skill.to_owned(),
        limit: MAX_LABELS,
    })
}

fn select_labels(tenant: &TenantId, skills: &[&str]) -> Sql {
    Sql::new(
        "SELECT l.skill, l.name, l.version, l.updated_at, v.ordinal
         FROM skill_labels l JOIN versions v ON v.id = l.version
         WHERE l.skill IN ",
    )
    .push_list(skills.iter().copied())
    .push_bind(" AND v.tenant = ", tenant.as_str())
    .push(" ORDER BY l.skill, l.name")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::query_plan::assert_no_table_is_scanned;

    #[test]
    fn labels_are_found_by_skill() {
        let tenant = TenantId::default_tenant();
        assert_no_table_is_scanned([select_labels(&tenant, &["skill_1", "skill_2"])]);
    }
}
