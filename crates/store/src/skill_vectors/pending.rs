//! The documents without a vector, of all tenants: what is left to embed.

use super::embedded_text::{row_text, text_digest};
use crate::Store;
use crate::db::{Database, Sql};
use crate::error::Result;
use crate::tenant::TenantId;

/// The latest version of a skill, which has no vector yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnembeddedSkill {
    /// Its tenant.
    pub tenant: TenantId,
    /// Its number in the tenant's index: another version has another.
    pub(super) number: i64,
    /// What is to be embedded.
    pub text: String,
    /// Identifies the text, whoever uploaded it.
    pub digest: String,
}

impl Store {
    /// Some skills without a vector, at most `limit`; those with the lowest numbers first, so
    /// that a tenant with many does not delay the first ones of others.
    pub async fn skills_without_vector(&self, limit: u32) -> Result<Vec<UnembeddedSkill>> {
        let sql = select_pending(self.db().database(), limit);
        let rows = self.db().fetch_all(sql).await?;
        let mut skills = Vec::with_capacity(rows.len());
        for row in &rows {
            let text = row_text(row)?;
            skills.push(UnembeddedSkill {
                tenant: TenantId::new(row.text("tenant")?)?,
                number: row.int("number")?,
                digest: text_digest(&text),
                text,
            });
        }
        Ok(skills)
    }
}

fn select_pending(database: Database, limit: u32) -> Sql {
    match database {
        // CROSS JOIN fixes the order: the few documents first.
        Database::Sqlite => Sql::new(
            "SELECT d.tenant, d.number, v.name, v.description, v.frontmatter, v.body
             FROM (SELECT tenant, number, skill FROM skill_documents
                   WHERE vector IS NULL ORDER BY number, tenant LIMIT $1) d
                  CROSS JOIN skills s CROSS JOIN versions v
             WHERE s.id = d.skill AND v.id = s.latest_version",
        ),
        Database::Postgres => Sql::new(
            "SELECT d.tenant, d.number, v.name, v.description, v.frontmatter, v.body
             FROM (SELECT tenant, number, skill FROM skill_documents
                   WHERE vector IS NULL ORDER BY number, tenant LIMIT $1) d
                  JOIN skills s ON s.id = d.skill JOIN versions v ON v.id = s.latest_version",
        ),
    }
    .bind(i64::from(limit))
}
