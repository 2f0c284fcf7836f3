//! The frontmatter of several versions at once, for a catalogue. No other large column is
//! read.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::record::parse_json_column;
use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::tenant::TenantId;

impl Store {
    /// The frontmatter of versions of the tenant's skills, by the ids of the versions. One
    /// that does not exist is left out.
    pub async fn version_frontmatter(
        &self,
        tenant: &TenantId,
        versions: &[&str],
    ) -> Result<HashMap<String, Map<String, Value>>> {
        if versions.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = self
            .db()
            .fetch_all(select_frontmatter(tenant, versions))
            .await?;
        let all = rows.iter().map(|row| {
            let frontmatter = parse_json_column("frontmatter", &row.text("frontmatter")?)?;
            Ok((row.text("id")?, frontmatter))
        });
        all.collect()
    }
}

fn select_frontmatter(tenant: &TenantId, versions: &[&str]) -> Sql {
    Sql::new("SELECT id, frontmatter FROM versions")
        .push_bind(" WHERE tenant = ", tenant.as_str())
        .push(" AND id IN ")
        .push_list(versions.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::query_plan::assert_no_table_is_scanned;

    #[test]
    fn frontmatter_is_found_by_version() {
        let tenant = TenantId::default_tenant();
        assert_no_table_is_scanned([select_frontmatter(&tenant, &["skver_1", "skver_2"])]);
    }
}
