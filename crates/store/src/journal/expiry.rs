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
    /// Deletes runs that ended long ago.
    pub(crate) async fn drop_ended_journal_runs(&self, now: Timestamp) -> Result<()> {
        let before = now.before(ENDED_RUN_RETENTION);
        loop {
            let sql = Sql::new(
                "DELETE FROM journal_runs WHERE id IN (
                     SELECT id FROM journal_runs WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)",
            );
            let deleted = self.db().execute(sql.bind(before).bind(BATCH_RUNS)).await?;
            if deleted < BATCH_RUNS.unsigned_abs() {
                return Ok(());
            }
        }
    }
}
