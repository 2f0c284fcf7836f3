//! One run.

use crate::Store;
use crate::db::Sql;
use crate::error::{Error, ResourceKind, Result};
use crate::tenant::TenantId;

use super::view::{COLUMNS, RunDetail};

impl Store {
    /// Gets a run that has a record, or one in progress that is not kept. A kept run without a
    /// record is read by [`Store::journal_run`].
    ///
    /// # Errors
    /// When the tenant has none with this id.
    pub async fn run(&self, tenant: &TenantId, id: &str) -> Result<RunDetail> {
        let row = self.db().fetch_optional(select_run(tenant, id)).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Run, id))?;
        let detail = RunDetail::from_row(&row)?;
        match detail.run.kept {
            None => Ok(detail),
            Some(_) => Err(Error::not_found(ResourceKind::Run, id)),
        }
    }
}

fn select_run(tenant: &TenantId, id: &str) -> Sql {
    Sql::new("SELECT ")
        .push(COLUMNS)
        .push(", COALESCE(r.files, f.files) AS files, COALESCE(r.events, '[]') AS events")
        .push_bind(" FROM (SELECT CAST(", id)
        .push_bind(" AS TEXT) AS id, CAST(", tenant.as_str())
        .push(
            " AS TEXT) AS tenant) AS found
            LEFT JOIN runs r ON r.id = found.id AND r.tenant = found.tenant
            LEFT JOIN journal_runs j ON j.id = found.id AND j.tenant = found.tenant
            LEFT JOIN foreground_runs f ON f.id = found.id AND f.tenant = found.tenant
            WHERE r.id IS NOT NULL OR f.id IS NOT NULL",
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::query_plan::assert_no_table_is_scanned;

    #[test]
    fn a_run_is_read_by_its_id() {
        let query = select_run(&TenantId::default_tenant(), "run_1");
        assert_no_table_is_scanned([query]);
    }
}
