//! The versions that one label of several skills points to, for a catalogue. No large column is
//! read.

use std::collections::HashMap;

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::tenant::TenantId;

/// A version that a label points to, as a catalogue shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledVersion {
    /// `skver_…`.
    pub id: String,
    /// What it does and when to use it.
    pub description: String,
}

impl Store {
    /// The versions that a label of the tenant's skills points to, by skill. Skills without this
    /// label and those of others are left out, and those whose labelled version is revoked.
    pub async fn labelled_versions(
        &self,
        tenant: &TenantId,
        label: &str,
        skills: &[&str],
    ) -> Result<HashMap<String, LabelledVersion>> {
        if skills.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = self
            .db()
            .fetch_all(select_labelled(tenant, label, skills))
            .await?;
        let all = rows.iter().map(|row| {
            let version = LabelledVersion {
                id: row.text("id")?,
                description: row.text("description")?,
            };
            Ok((row.text("skill")?, version))
        });
        all.collect()
    }
}

fn select_labelled(tenant: &TenantId, label: &str, skills: &[&str]) -> Sql {
    Sql::new(
        "SELECT l.skill, v.id, v.description
         FROM skill_labels l JOIN versions v ON v.id = l.version
              LEFT JOIN version_marks m ON m.version = v.id
         WHERE l.skill IN ",
    )
    .push_list(skills.iter().copied())
    .push_bind(" AND l.name = ", label)
    .push_bind(" AND v.tenant = ", tenant.as_str())
    .push(" AND m.revoked_at IS NULL")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::query_plan::assert_no_table_is_scanned;

    #[test]
    fn labelled_versions_are_found_by_skill_and_label() {
        let tenant = TenantId::default_tenant();
        let skills = ["skill_1", "skill_2"];
        assert_no_table_is_scanned([select_labelled(&tenant, "production", &skills)]);
    }
}
