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
        let count = match result.state {
            BatchItemState::Succeeded => "succeeded = succeeded + 1",
            BatchItemState::Errored => "errored = errored + 1",
            BatchItemState::Cancelled => "cancelled = cancelled + 1",
            other => {
                return Err(Error::Invalid {
                    field: "state",
                    reason: format!("`{}` is not the result of a request", other.as_str()),
                });
            }
        };
        let bytes = result.body.map_or(0, str::len);
        self.disk_space().check(bytes as u64)?;
        let mut tx = self.db().begin().await?;
        // The batch before its items, as everywhere: two transactions never wait for each other.
        let sql = Sql::new("UPDATE batches SET ")
            .push(count)
            .push_bind(
                ", bytes = bytes + ",
                i64::try_from(bytes).unwrap_or(i64::MAX),
            )
            .push_bind(" WHERE id = ", &item.batch);
        tx.execute(sql).await?;
        let sql = Sql::new("UPDATE batch_items SET body = NULL, state = ")
            .push_bind("", result.state.as_str())
            .push_bind(", status = ", result.status)
            .push_bind(", result = ", result.body)
            .push(" WHERE state IN ('running', 'stopping')");
        if tx.execute(item.push_condition(sql)).await? == 0 {
            tx.rollback().await;
            return Ok(false);
        }
        settle_batch(&mut tx, &item.batch).await?;
        tx.commit().await?;
        Ok(true)
    }
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
