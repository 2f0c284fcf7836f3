//! Requests on their way to the store: collected, and written in parts.

use prowess_store::{
    AddItemsOutcome, BatchLimits, BatchRecord, DuplicateItem, NewBatchItem, Result as StoreResult,
    Store,
};

/// Requests written at once.
const PART_ITEMS: usize = 100;
/// Bytes after which requests are written.
const PART_BYTES: usize = 1 << 20;

/// Adds requests to one batch.
pub(crate) struct ItemWriter<'a> {
    store: &'a Store,
    batch: &'a BatchRecord,
    attempt: i64,
    limits: BatchLimits,
    part: Vec<NewBatchItem>,
    part_bytes: usize,
}

/// Why no more requests are added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WriteStop {
    /// These have names that others have.
    Duplicates(Vec<DuplicateItem>),
    /// The batch was cancelled or deleted, or another server reads its requests.
    Lost,
}

impl<'a> ItemWriter<'a> {
    pub(crate) fn new(
        store: &'a Store,
        batch: &'a BatchRecord,
        attempt: i64,
        limits: BatchLimits,
    ) -> ItemWriter<'a> {
        ItemWriter {
            store,
            batch,
            attempt,
            limits,
            part: Vec::new(),
            part_bytes: 0,
        }
    }

    /// Adds a request, at the latest when the writer is flushed.
    pub(crate) async fn push(&mut self, item: NewBatchItem) -> StoreResult<Result<(), WriteStop>> {
        self.part_bytes += item.body.len();
        self.part.push(item);
        if self.part.len() < PART_ITEMS && self.part_bytes < PART_BYTES {
            return Ok(Ok(()));
        }
        self.flush().await
    }

    /// Writes all requests. An error if the tenant's other batches leave no room for them.
    pub(crate) async fn flush(&mut self) -> StoreResult<Result<(), WriteStop>> {
        if self.part.is_empty() {
            return Ok(Ok(()));
        }
        self.part_bytes = 0;
        let part = std::mem::take(&mut self.part);
        let (tenant, batch) = (&self.batch.tenant, &self.batch.id);
        self.store
            .check_batch_bytes(tenant, batch, &self.limits)
            .await?;
        let added = self
            .store
            .add_batch_items(tenant, batch, self.attempt, part);
        Ok(match added.await? {
            AddItemsOutcome::Added => Ok(()),
            AddItemsOutcome::Duplicates(found) => Err(WriteStop::Duplicates(found)),
            AddItemsOutcome::Lost => Err(WriteStop::Lost),
        })
    }
}
