//! Lists the runs of a tenant that have not ended.

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::tenant::TenantId;

use super::read::JournalRun;

impl Store {
    /// The newest runs of the tenant that have not ended, newest first; those that a client
    /// waits for too.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn open_runs(&self, tenant: &TenantId, limit: u32) -> Result<Vec<JournalRun>> {
        let sql = Sql::new(
            "SELECT id, model, dialect, state, kept, next_step, cancel_requested, result,
                    created_at, ended_at
             FROM journal_runs WHERE tenant = $1 AND state IN ('queued', 'running')
             ORDER BY created_at DESC, id DESC LIMIT $2",
        );
        let sql = sql.bind(tenant.as_str()).bind(i64::from(limit));
        let rows = self.db().fetch_all(sql).await?;
        rows.iter().map(JournalRun::from_row).collect()
    }
}
