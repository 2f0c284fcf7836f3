//! Deletes runs that ended long ago, with their steps and events.

use std::time::Duration;

use crate::Store;
use crate::db::Sql;
use crate::error::Result;
use crate::time::Timestamp;

/// How long an ended run can be attached to, and its idempotency key is known.
const ENDED_RUN_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// Runs per statement: their steps and events go with them.
const BATCH_RUNS: i64 = 100;

impl Store {
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
