//! Indexes what earlier releases have stored, when a store is opened for the first time after
//! the migration. It is done in short transactions, so it goes on where it was interrupted,
//! and several servers may do it at once.

use super::document_terms::row_terms;
use super::write::{IndexChange, add_document, remove_document};
use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::quota;
use crate::tenant::TenantId;

/// Skills per transaction.
const BATCH_SKILLS: i64 = 32;

impl Store {
    /// Indexes all skills that are not indexed yet.
    pub(crate) async fn index_earlier_skills(&self) -> Result<()> {
        loop {
            let sql = Sql::new(
                "SELECT s.id, s.tenant FROM skills_to_index i JOIN skills s ON s.id = i.skill
                 ORDER BY i.skill LIMIT $1",
            );
            let rows = self.db().fetch_all(sql.bind(BATCH_SKILLS)).await?;
            let Some(first) = rows.first() else {
                return Ok(());
            };
            let tenant = TenantId::new(first.text("tenant")?)?;
            let mut skills = Vec::new();
            for row in &rows {
                if row.text("tenant")? == tenant.as_str() {
                    skills.push(row.text("id")?);
                }
            }
            if self.index_batch(&tenant, &skills).await?.merge {
                self.merge_tenant(&tenant).await?;
            }
        }
    }

    async fn index_batch(&self, tenant: &TenantId, skills: &[String]) -> Result<IndexChange> {
        let mut tx = self.db().begin().await?;
        quota::lock_totals(&mut tx, tenant).await?;
        let mut change = IndexChange::default();
        for skill in skills {
            let sql = Sql::new("DELETE FROM skills_to_index WHERE skill = $1");
            if tx.execute(sql.bind(skill)).await? == 0 {
                continue;
            }
            // One that an earlier release has indexed, or that was uploaded again since the
            // migration, is indexed again.
            change = change.and(remove_document(&mut tx, tenant, skill).await?);
            let sql = Sql::new(
                "SELECT v.name, v.description, v.frontmatter, v.body
                 FROM skills s JOIN versions v ON v.id = s.latest_version WHERE s.id = $1",
            );
            let Some(row) = tx.fetch_optional(sql.bind(skill)).await? else {
                continue;
            };
            let terms = row_terms(&row)?;
            change = change.and(add_document(&mut tx, tenant, skill, &terms).await?);
        }
        tx.commit().await?;
        Ok(change)
    }
}
