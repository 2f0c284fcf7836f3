//! Which requests are started, and the runs they become.

use std::collections::HashMap;

use crate::Store;
use crate::db::{DbRow, Sql, Tx};
use crate::error::Result;
use crate::tenant::TenantId;

use super::record::BatchState;

/// How many requests of batches may be in progress at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchConcurrency {
    /// Of all tenants.
    pub total: u32,
    /// Of one tenant.
    pub tenant: u32,
}

/// Names a request of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BatchItemRef {
    /// The batch.
    pub batch: String,
    /// Its number there.
    pub seq: i64,
}

/// A request that is to be submitted as a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsubmittedItem {
    /// The request.
    pub item: BatchItemRef,
    /// The dialect of the request.
    pub dialect: String,
    /// The id of the key that the batch was created with; `None` for the operator.
    pub api_key: Option<String>,
    /// What the server keeps of the request that created its batch, if that is a Message Batch.
    pub request_metadata: Option<String>,
    /// Whether its batch is being cancelled: it must not become a run any more.
    pub is_cancelled: bool,
}

/// A request that became a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchItemRun {
    /// The request.
    pub item: BatchItemRef,
    /// Its tenant.
    pub tenant: TenantId,
    /// The run.
    pub run: String,
}

impl Store {
    /// Marks waiting requests as running, up to the limits; those of older batches first.
    /// Returns how many were marked.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn mark_running_items(&self, limits: BatchConcurrency) -> Result<u64> {
        let running = self.running_items().await?;
        let mut free = i64::from(limits.total) - running.values().sum::<i64>();
        if free <= 0 {
            return Ok(0);
        }
        let sql = Sql::new(
            "SELECT DISTINCT tenant FROM batches
             WHERE ended_at IS NULL AND state = 'in_progress'",
        );
        let mut tenants = Vec::new();
        for row in self.db().fetch_all(sql).await? {
            let tenant = TenantId::new(row.text("tenant")?)?;
            tenants.push((running.get(&tenant).copied().unwrap_or_default(), tenant));
        }
        // Those with the fewest first.
        tenants.sort();
        let mut marked = 0;
        let mut others = i64::try_from(tenants.len()).unwrap_or(i64::MAX);
        for (running, tenant) in tenants {
            // An equal part of what is free. What this one does not need is for the next.
            let part = (free + others - 1) / others.max(1);
            others -= 1;
            let part = part.min(i64::from(limits.tenant) - running);
            if part > 0 {
                let added = self.mark_running_of(&tenant, part).await?;
                free -= i64::try_from(added).unwrap_or(i64::MAX);
                marked += added;
            }
        }
        Ok(marked)
    }

    /// How many running requests each tenant has.
    async fn running_items(&self) -> Result<HashMap<TenantId, i64>> {
        let sql = Sql::new(
            "SELECT tenant, COUNT(*) AS running FROM batch_items
             WHERE state IN ('running', 'stopping') GROUP BY tenant",
        );
        let rows = self.db().fetch_all(sql).await?;
        let read = |row: &DbRow| Ok((TenantId::new(row.text("tenant")?)?, row.int("running")?));
        rows.iter().map(read).collect()
    }

    async fn mark_running_of(&self, tenant: &TenantId, limit: i64) -> Result<u64> {
        let sql = Sql::new(
            "SELECT i.batch, i.seq FROM batches b JOIN batch_items i ON i.batch = b.id
             WHERE b.ended_at IS NULL AND b.state = 'in_progress' AND i.state = 'pending'
               AND b.tenant = ",
        )
        .push_bind("", tenant.as_str())
        .push_bind(" ORDER BY i.batch, i.seq LIMIT ", limit);
        let rows = self.db().fetch_all(sql).await?;
        if rows.is_empty() {
            return Ok(0);
        }
        let mut tx = self.db().begin().await?;
        let (mut marked, mut open) = (0, None);
        for row in &rows {
            let item = BatchItemRef::from_row(row)?;
            // Items are changed by the transaction that has locked their batch.
            let (batch, is_open) = match open.take() {
                Some((batch, is_open)) if batch == item.batch => (batch, is_open),
                _ => (
                    item.batch.clone(),
                    lock_open_batch(&mut tx, &item.batch).await?,
                ),
            };
            if is_open {
                let sql =
                    Sql::new("UPDATE batch_items SET state = 'running' WHERE state = 'pending'");
                marked += tx.execute(item.push_condition(sql)).await?;
            }
            open = Some((batch, is_open));
        }
        tx.commit().await?;
        Ok(marked)
    }

    /// Tenants with running requests that have no run yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn tenants_with_unsubmitted_items(&self) -> Result<Vec<TenantId>> {
        let sql = Sql::new(
            "SELECT DISTINCT tenant FROM batch_items
             WHERE state IN ('running', 'stopping') AND run IS NULL",
        );
        let rows = self.db().fetch_all(sql).await?;
        let tenant = |row: &DbRow| TenantId::new(row.text("tenant")?);
        rows.iter().map(tenant).collect()
    }

    /// Running requests of a tenant that have no run yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn unsubmitted_items(
        &self,
        tenant: &TenantId,
        limit: u32,
    ) -> Result<Vec<UnsubmittedItem>> {
        let sql = Sql::new(
            "SELECT i.batch, i.seq, b.dialect, b.api_key, b.state,
                CASE WHEN b.kind = 'messages' THEN b.metadata END AS request_metadata
             FROM batch_items i JOIN batches b ON b.id = i.batch
             WHERE i.state IN ('running', 'stopping') AND i.run IS NULL AND i.tenant = ",
        )
        .push_bind("", tenant.as_str())
        .push_bind(" ORDER BY i.batch, i.seq LIMIT ", i64::from(limit));
        let rows = self.db().fetch_all(sql).await?;
        let read = |row: &DbRow| {
            Ok(UnsubmittedItem {
                item: BatchItemRef::from_row(row)?,
                dialect: row.text("dialect")?,
                api_key: row.optional_text("api_key")?,
                request_metadata: row.optional_text("request_metadata")?,
                is_cancelled: row.text("state")? == BatchState::Cancelling.as_str(),
            })
        };
        rows.iter().map(read).collect()
    }

    /// A request, unless it has ended.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn batch_item_body(&self, item: &BatchItemRef) -> Result<Option<Vec<u8>>> {
        let sql = Sql::new("SELECT body FROM batch_items WHERE body IS NOT NULL");
        let row = self.db().fetch_optional(item.push_condition(sql)).await?;
        row.map_or(Ok(None), |row| row.optional_bytes("body"))
    }

    /// Records the run that a request became.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn set_batch_item_run(&self, item: &BatchItemRef, run: &str) -> Result<()> {
        let sql = Sql::new("UPDATE batch_items SET run = ")
            .push_bind("", run)
            .push(" WHERE state IN ('running', 'stopping')");
        self.db().execute(item.push_condition(sql)).await.map(drop)
    }

    /// Runs of requests that have ended, or were deleted, and whose results are not recorded.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn ended_item_runs(&self, limit: u32) -> Result<Vec<BatchItemRun>> {
        let sql = Sql::new(
            "SELECT i.batch, i.seq, i.tenant, i.run
             FROM batch_items i LEFT JOIN journal_runs r ON r.id = i.run
             WHERE i.state IN ('running', 'stopping') AND i.run IS NOT NULL
               AND (r.id IS NULL OR r.state NOT IN ('queued', 'running')) LIMIT ",
        );
        let sql = sql.push_bind("", i64::from(limit));
        BatchItemRun::from_rows(&self.db().fetch_all(sql).await?)
    }

    /// Runs of requests whose batch is being cancelled.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn item_runs_to_stop(&self, limit: u32) -> Result<Vec<BatchItemRun>> {
        let sql = Sql::new(
            "SELECT i.batch, i.seq, i.tenant, i.run
             FROM batches b JOIN batch_items i ON i.batch = b.id
             WHERE b.ended_at IS NULL AND b.state = 'cancelling' AND i.tenant = b.tenant
               AND i.state = 'running' AND i.run IS NOT NULL LIMIT ",
        );
        let sql = sql.push_bind("", i64::from(limit));
        BatchItemRun::from_rows(&self.db().fetch_all(sql).await?)
    }

    /// Records that the run of a request is being cancelled.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn mark_item_stopping(&self, item: &BatchItemRef) -> Result<()> {
        let sql = Sql::new("UPDATE batch_items SET state = 'stopping' WHERE state = 'running'");
        self.db().execute(item.push_condition(sql)).await.map(drop)
    }
}

/// Locks a batch; returns whether its requests may be started.
async fn lock_open_batch(tx: &mut Tx, batch: &str) -> Result<bool> {
    let sql = Sql::new("SELECT id FROM batches WHERE state = 'in_progress' AND id = ");
    let sql = sql.push_bind("", batch).for_update();
    Ok(tx.fetch_optional(sql).await?.is_some())
}

impl BatchItemRef {
    pub(super) fn from_row(row: &DbRow) -> Result<Self> {
        Ok(BatchItemRef {
            batch: row.text("batch")?,
            seq: row.int("seq")?,
        })
    }

    /// Adds the condition to a statement that has another one.
    pub(super) fn push_condition(&self, sql: Sql) -> Sql {
        sql.push_bind(" AND batch_items.batch = ", &self.batch)
            .push_bind(" AND batch_items.seq = ", self.seq)
    }
}

impl BatchItemRun {
    pub(super) fn from_rows(rows: &[DbRow]) -> Result<Vec<Self>> {
        let read = |row: &DbRow| {
            Ok(BatchItemRun {
                item: BatchItemRef::from_row(row)?,
                tenant: TenantId::new(row.text("tenant")?)?,
                run: row.text("run")?,
            })
        };
        rows.iter().map(read).collect()
    }
}
