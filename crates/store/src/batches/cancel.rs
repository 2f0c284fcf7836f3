//! Cancelling a batch, and expiring those that took too long.

use crate::Store;
use crate::db::{DbRow, Sql, Tx};
use crate::error::{Error, ResourceKind, Result};
use crate::tenant::TenantId;
use crate::time::Timestamp;

use super::record::{BatchKind, BatchRecord, BatchState};
use super::results::settle_batch;
use super::start::BatchItemRun;

impl Store {
    /// Cancels a batch: requests that wait are cancelled, those that run are left to the
    /// scheduler. A batch that has ended, or is about to, stays as it is. Repeating it changes
    /// nothing.
    ///
    /// # Errors
    /// When the tenant has no such batch of this kind, or the store cannot be written.
    pub async fn cancel_batch(
        &self,
        tenant: &TenantId,
        kind: BatchKind,
        id: &str,
    ) -> Result<BatchRecord> {
        let now = Timestamp::now();
        let mut tx = self.db().begin().await?;
        let select = || {
            BatchRecord::select()
                .push_bind(" WHERE tenant = ", tenant.as_str())
                .push_bind(" AND kind = ", kind.as_str())
                .push_bind(" AND id = ", id)
                .push(" AND state <> 'receiving'")
        };
        let row = tx.fetch_optional(select().for_update()).await?;
        let row = row.ok_or_else(|| Error::not_found(ResourceKind::Batch, id))?;
        let batch = BatchRecord::from_row(&row)?;
        let was_validating = batch.state == BatchState::Validating;
        match batch.state {
            BatchState::InProgress => {
                let sql =
                    Sql::new("UPDATE batches SET state = 'cancelling', cancel_requested_at = ")
                        .push_bind("", now)
                        .push_bind(" WHERE id = ", id);
                tx.execute(sql).await?;
                let sql = Sql::new(
                    "UPDATE batch_items SET state = 'cancelled', body = NULL
                     WHERE state = 'pending' AND batch = ",
                );
                let cancelled = tx.execute(sql.push_bind("", id)).await?;
                let sql = Sql::new("UPDATE batches SET cancelled = cancelled + ")
                    .push_bind("", i64::try_from(cancelled).unwrap_or(i64::MAX))
                    .push_bind(" WHERE id = ", id);
                tx.execute(sql).await?;
                settle_batch(&mut tx, id).await?;
            }
            // None of its requests was started. What was read of them is removed below.
            BatchState::Validating => {
                let sql =
                    Sql::new("UPDATE batches SET state = 'cancelled', bytes = 0, ended_at = ")
                        .push_bind("", now)
                        .push_bind(", cancel_requested_at = ", now)
                        .push_bind(" WHERE id = ", id);
                tx.execute(sql).await?;
            }
            _ => {
                tx.rollback().await;
                return Ok(batch);
            }
        }
        let row = tx.fetch_optional(select()).await?.ok_or(Error::Busy)?;
        let batch = BatchRecord::from_row(&row)?;
        tx.commit().await?;
        if was_validating {
            // They do not count as stored any more.
            self.drop_batch_items(id).await?;
        }
        Ok(batch)
    }

    /// Ends the requests of batches whose time is over. Returns the runs that are to be
    /// cancelled.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn expire_batches(&self, now: Timestamp, limit: u32) -> Result<Vec<BatchItemRun>> {
        let sql = Sql::new(
            "SELECT id FROM batches WHERE ended_at IS NULL
               AND state IN ('validating', 'in_progress', 'cancelling') AND expires_at <= ",
        )
        .push_bind("", now)
        .push_bind(" LIMIT ", i64::from(limit));
        let mut runs = Vec::new();
        for row in self.db().fetch_all(sql).await? {
            let id = row.text("id")?;
            let mut tx = self.db().begin().await?;
            let expired = expire_batch(&mut tx, &id, now).await?;
            tx.commit().await?;
            match expired {
                ExpiredBatch::Running(stopped) => runs.extend(stopped),
                ExpiredBatch::Validating => self.drop_batch_items(&id).await?,
                ExpiredBatch::Ended => {}
            }
        }
        Ok(runs)
    }
}

/// What an expired batch was before.
enum ExpiredBatch {
    /// Its requests were run; these are to be cancelled.
    Running(Vec<BatchItemRun>),
    /// Its requests were read. They are to be removed: they do not count as stored any more.
    Validating,
    /// Over.
    Ended,
}

async fn expire_batch(tx: &mut Tx, id: &str, now: Timestamp) -> Result<ExpiredBatch> {
    let sql = Sql::new("SELECT state FROM batches WHERE id = ").push_bind("", id);
    let row = tx.fetch_optional(sql.for_update()).await?;
    let state = row.as_ref().map(|row: &DbRow| row.text("state"));
    match state.transpose()?.as_deref() {
        Some("in_progress" | "cancelling") => {}
        Some("validating") => {
            let sql = Sql::new("UPDATE batches SET state = 'expired', bytes = 0, ended_at = ")
                .push_bind("", now)
                .push_bind(" WHERE id = ", id);
            tx.execute(sql).await?;
            return Ok(ExpiredBatch::Validating);
        }
        _ => return Ok(ExpiredBatch::Ended),
    }
    let sql = Sql::new(
        "SELECT batch, seq, tenant, run FROM batch_items
         WHERE state IN ('running', 'stopping') AND run IS NOT NULL AND batch = ",
    );
    let runs = BatchItemRun::from_rows(&tx.fetch_all(sql.push_bind("", id)).await?)?;
    let sql = Sql::new(
        "UPDATE batch_items SET state = 'expired', body = NULL
         WHERE state IN ('pending', 'running', 'stopping') AND batch = ",
    );
    let expired = tx.execute(sql.push_bind("", id)).await?;
    let sql = Sql::new("UPDATE batches SET expired = expired + ")
        .push_bind("", i64::try_from(expired).unwrap_or(i64::MAX))
        .push_bind(" WHERE id = ", id);
    tx.execute(sql).await?;
    settle_batch(tx, id).await?;
    Ok(ExpiredBatch::Running(runs))
}
