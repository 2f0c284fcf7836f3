//! Results of requests, and what remains of a batch when all have one.

use crate::Store;
use crate::db::{Sql, Tx};
use crate::error::{Error, Result};
use crate::time::Timestamp;

use super::record::BatchItemState;
use super::start::BatchItemRef;

/// How a request ended.
#[derive(Debug, Clone, Copy)]
pub struct BatchItemResult<'a> {
    /// Succeeded, errored or cancelled.
    pub state: BatchItemState,
    /// The HTTP status.
    pub status: i64,
    /// The response or error, as JSON; none of a cancelled request.
    pub body: Option<&'a str>,
}

/// A request with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchResult {
    /// Its number in the batch.
    pub seq: i64,
    /// The client's name for it.
    pub custom_id: String,
    /// Its state.
    pub state: BatchItemState,
    /// The run that it became.
    pub run: Option<String>,
    /// The HTTP status of its response or error.
    pub status: Option<i64>,
    /// The response or error, as JSON.
    pub body: Option<String>,
}

impl Store {
    /// Records how a request ended. The last one of a batch ends it, or lets its files be
    /// written. Returns false when the request had ended before.
    ///
    /// # Errors
    /// When the state is not one in which a request ends with a result, or the store cannot be
    /// written.
    pub async fn record_batch_result(
        &self,
        item: &BatchItemRef,
        result: &BatchItemResult<'_>,
    ) -> Result<bool> {
        let results = [(item.seq, *result)];
        Ok(self.record_batch_results(&item.batch, &results).await? == 1)
    }

    /// Records how several requests of a batch ended, by their numbers, in one transaction.
    /// Returns how many had not ended before.
    ///
    /// # Errors
    /// As for [`Store::record_batch_result`].
    pub async fn record_batch_results(
        &self,
        batch: &str,
        results: &[(i64, BatchItemResult<'_>)],
    ) -> Result<u64> {
        let size = |result: &BatchItemResult<'_>| result.body.map_or(0, str::len) as u64;
        let bytes = results.iter().map(|(_, result)| size(result)).sum();
        for (_, result) in results {
            EndedItems::default().counter(result.state)?;
        }
        self.disk_space().check(bytes)?;
        let mut tx = self.db().begin().await?;
        // The batch before its items, as everywhere: two transactions never wait for each other.
        let sql = Sql::new("SELECT id FROM batches WHERE id = ").push_bind("", batch);
        if tx.fetch_optional(sql.for_update()).await?.is_none() {
            tx.rollback().await;
            return Ok(0);
        }
        let mut ended = EndedItems::default();
        for (seq, result) in results {
            let item = BatchItemRef {
                batch: batch.to_owned(),
                seq: *seq,
            };
            if record_item(&mut tx, &item, result).await? {
                ended.add(result, size(result))?;
            }
        }
        if ended.all() == 0 {
            tx.rollback().await;
            return Ok(0);
        }
        tx.execute(ended.push_counts(batch)).await?;
        settle_batch(&mut tx, batch).await?;
        tx.commit().await?;
        Ok(ended.all())
    }
}

/// What a transaction adds to the counts of a batch.
#[derive(Default)]
struct EndedItems {
    succeeded: i64,
    errored: i64,
    cancelled: i64,
    bytes: i64,
}

impl EndedItems {
    /// The count of a state. Refuses one that is not the end of a request.
    fn counter(&mut self, state: BatchItemState) -> Result<&mut i64> {
        match state {
            BatchItemState::Succeeded => Ok(&mut self.succeeded),
            BatchItemState::Errored => Ok(&mut self.errored),
            BatchItemState::Cancelled => Ok(&mut self.cancelled),
            other => Err(Error::Invalid {
                field: "state",
                reason: format!("`{}` is not the result of a request", other.as_str()),
            }),
        }
    }

    fn add(&mut self, result: &BatchItemResult<'_>, bytes: u64) -> Result<()> {
        *self.counter(result.state)? += 1;
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }

    fn all(&self) -> u64 {
        u64::try_from(self.succeeded + self.errored + self.cancelled).unwrap_or_default()
    }

    fn push_counts(&self, batch: &str) -> Sql {
        Sql::new("UPDATE batches SET succeeded = succeeded + ")
            .push_bind("", self.succeeded)
            .push_bind(", errored = errored + ", self.errored)
            .push_bind(", cancelled = cancelled + ", self.cancelled)
            .push_bind(", bytes = bytes + ", self.bytes)
            .push_bind(" WHERE id = ", batch)
    }
}

/// Returns false when the request had ended before.
async fn record_item(
    tx: &mut Tx,
    item: &BatchItemRef,
    result: &BatchItemResult<'_>,
) -> Result<bool> {
    let sql = Sql::new("UPDATE batch_items SET body = NULL, state = ")
        .push_bind("", result.state.as_str())
        .push_bind(", status = ", result.status)
        .push_bind(", result = ", result.body)
        .push(" WHERE state IN ('running', 'stopping')");
    Ok(tx.execute(item.push_condition(sql)).await? == 1)
}

/// Ends a batch if all of its requests have ended. One of a file still gets its files.
pub(super) async fn settle_batch(tx: &mut Tx, batch: &str) -> Result<()> {
    let now = Timestamp::now();
    let sql = Sql::new(
        "UPDATE batches SET
             state = CASE WHEN kind = 'file' THEN 'finalizing'
                          WHEN expired > 0 THEN 'expired'
                          WHEN cancel_requested_at IS NOT NULL THEN 'cancelled'
                          ELSE 'completed' END,
             ended_at = CASE WHEN kind = 'file' THEN NULL ELSE ",
    )
    .push_bind("", now)
    .push_bind(" END, finalizing_at = ", now)
    .push_bind(" WHERE id = ", batch)
    .push(
        " AND state IN ('in_progress', 'cancelling')
          AND total = succeeded + errored + cancelled + expired",
    );
    tx.execute(sql).await.map(drop)
}
