//! Deleting batches, also those that ended long ago.

use std::time::Duration;

use crate::Store;
use crate::db::Sql;
use crate::error::{Error, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::create::DELETE_ROWS;
use super::record::BatchKind;

/// How long a batch is stored after its end. Its results may be stored for a shorter time.
const ENDED_BATCH_RETENTION: Duration = Duration::from_secs(29 * 24 * 3600);
/// How long requests may take to be received. Their connection has ended long before.
const RECEIVING_TIME: Duration = Duration::from_secs(6 * 3600);
/// Batches per query.
const BATCH_ROWS: i64 = 100;

impl Store {
    /// Deletes a batch that has ended, with its results.
    ///
    /// # Errors
    /// When the tenant has no such batch of this kind, it has not ended, or the store cannot
    /// be written.
    pub async fn delete_batch(&self, tenant: &TenantId, kind: BatchKind, id: &str) -> Result<()> {
        let batch = self.batch(tenant, kind, id).await?;
        if !batch.state.is_terminal() {
            return Err(Error::BatchInProgress { id: id.to_owned() });
        }
        self.drop_batch(id).await
    }

    /// Deletes batches that ended long ago, and those that never began or never ended.
    pub(crate) async fn drop_old_batches(&self, now: Timestamp) -> Result<()> {
        let ended = now.before(ENDED_BATCH_RETENTION);
        loop {
            // The results of messages are part of the batch; others have files of their own.
            let sql = Sql::new("SELECT id FROM batches WHERE ended_at < ")
                .push_bind("", ended)
                .push(" OR (kind = 'messages' AND output_lifetime > 0")
                .push_bind(" AND ended_at + output_lifetime < ", now)
                .push(")")
                .push_bind(" OR (ended_at IS NULL AND created_at < ", ended)
                .push_bind(
                    ") OR (ended_at IS NULL AND state = 'receiving' AND created_at < ",
                    now.before(RECEIVING_TIME),
                )
                .push_bind(") LIMIT ", BATCH_ROWS);
            let rows = self.db().fetch_all(sql).await?;
            for row in &rows {
                self.drop_batch(&row.text("id")?).await?;
            }
            if rows.len() < BATCH_ROWS.unsigned_abs() as usize {
                return Ok(());
            }
        }
    }

    pub(super) async fn drop_batch(&self, batch: &str) -> Result<()> {
        self.drop_batch_items(batch).await?;
        let sql = Sql::new("DELETE FROM batches WHERE id = ").push_bind("", batch);
        self.db().execute(sql).await.map(drop)
    }

    /// In parts, so that no transaction becomes large.
    pub(super) async fn drop_batch_items(&self, batch: &str) -> Result<()> {
        loop {
            let sql = Sql::new(
                "DELETE FROM batch_items WHERE batch = $1 AND seq IN (
                     SELECT seq FROM batch_items WHERE batch = $1 ORDER BY seq LIMIT $2)",
            );
            let deleted = self.db().execute(sql.bind(batch).bind(DELETE_ROWS)).await?;
            if deleted < DELETE_ROWS.unsigned_abs() {
                return Ok(());
            }
        }
    }
}
