//! Deletes runs that have ended, with their steps and events: those that ended long ago, and
//! those that their tenant deletes.

use std::time::Duration;

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::tenant::TenantId;
use crate::time::Timestamp;

/// How long an ended run can be attached to, and its idempotency key is known.
const ENDED_RUN_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// Runs per statement: their steps and events go with them.
const BATCH_RUNS: i64 = 100;

impl Store {
    /// Deletes a run of the tenant that has ended, with its request, steps, events and result.
    /// Returns whether there was one.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn delete_ended_run(&self, tenant: &TenantId, run: &str) -> Result<bool> {
        let sql = Sql::new("DELETE FROM journal_runs WHERE ended_at IS NOT NULL AND tenant = ")
            .push_bind("", tenant.as_str())
            .push_bind(" AND id = ", run);
        Ok(self.db().execute(sql).await? == 1)
    }

    /// Deletes runs that ended long ago. Tenant by tenant: each transaction changes the totals
    /// of one tenant only.
    pub(crate) async fn drop_ended_journal_runs(&self, now: Timestamp) -> Result<()> {
        let before = now.before(ENDED_RUN_RETENTION);
        let sql = Sql::new("SELECT DISTINCT tenant FROM journal_runs WHERE ended_at < $1");
        for row in self.db().fetch_all(sql.bind(before)).await? {
            self.drop_ended_tenant_runs(&row.text("tenant")?, before)
                .await?;
        }
        Ok(())
    }

    async fn drop_ended_tenant_runs(&self, tenant: &str, before: Timestamp) -> Result<()> {
        loop {
            let sql = Sql::new(
                "DELETE FROM journal_runs WHERE id IN (
                     SELECT id FROM journal_runs WHERE ended_at < $1 AND tenant = $2
                     ORDER BY ended_at LIMIT $3)",
            );
            let sql = sql.bind(before).bind(tenant).bind(BATCH_RUNS);
            let deleted = self.db().execute(sql).await?;
            if deleted < BATCH_RUNS.unsigned_abs() {
                return Ok(());
            }
        }
    }
}
