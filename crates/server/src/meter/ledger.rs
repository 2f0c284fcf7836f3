//! The rows of usage: added up by requests, written by one task, in batches.
//!
//! A request only adds its row to those of its kind. Nobody is woken for that but once
//! in a while: to wake a task of another thread costs more than to answer a request.
//! When too many kinds of a tenant wait, its next ones are added up without their models.
//! When even that does not fit, the row is dropped, and counted: an answer never waits
//! for the database.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use prowess_store::{Store, TenantId, UsageRow};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

/// Kinds of rows with their models that may wait to be written: of a tenant, and of all.
const MAX_TENANT_KINDS: usize = 256;
const MAX_KINDS: usize = 16_384;
/// With those that are added up without their models.
const MAX_ALL_KINDS: usize = 2 * MAX_KINDS;
/// What stands for the models of rows that are added up without them.
const OTHER_MODELS: &str = "(other)";
/// Kinds of rows written in one go.
const BATCH_ROWS: usize = 500;
/// How long rows are gathered.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// How often a batch is tried before it waits with those that come after it.
const MAX_ATTEMPTS: u32 = 5;

const DROPPED_METRIC: &str = "prowess_usage_dropped_total";

/// Takes rows and sees to it that they are written.
pub(crate) struct UsageLedger {
    store: Store,
    /// Where the writer lives: a connection's own runtime ends before the server does.
    runtime: Option<Handle>,
    pending: Arc<PendingRows>,
    // Started by the first row, when there surely is a runtime.
    writer: OnceLock<()>,
}

/// What waits to be written, and how the writer hears of it.
#[derive(Default)]
struct PendingRows {
    batch: Mutex<RowBatch>,
    /// There is something.
    has_rows: Notify,
    /// It shall be written now.
    flush_now: Notify,
}

impl UsageLedger {
    pub(crate) fn new(store: Store) -> UsageLedger {
        UsageLedger {
            store,
            runtime: Handle::try_current().ok(),
            pending: Arc::default(),
            writer: OnceLock::new(),
        }
    }

    /// Takes a row, or drops it when too many wait.
    pub(crate) fn record(&self, row: UsageRow) {
        if !self.has_writer() || !self.pending.add(row) {
            metrics::counter!(DROPPED_METRIC).increment(1);
        }
    }

    /// Starts the writer if there is none. An answer may be dropped after its runtime
    /// has ended, and then there can be none.
    fn has_writer(&self) -> bool {
        if self.writer.get().is_some() {
            return true;
        }
        let Some(runtime) = self.runtime.clone().or_else(|| Handle::try_current().ok()) else {
            return false;
        };
        self.writer.get_or_init(|| {
            runtime.spawn(run_writer(self.store.clone(), Arc::clone(&self.pending)));
        });
        true
    }

    /// Waits until all rows so far are written, or could not be.
    pub(crate) async fn flush(&self) {
        if self.writer.get().is_some() {
            // The writer lives as long as its runtime.
            let _ = self.pending.request_flush().await;
        }
    }
}

impl PendingRows {
    fn batch(&self) -> MutexGuard<'_, RowBatch> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a row; false if there is no room.
    fn add(&self, row: UsageRow) -> bool {
        let mut batch = self.batch();
        let first = batch.rows.is_empty();
        if !batch.add(row) {
            return false;
        }
        let full = batch.rows.len() == BATCH_ROWS;
        drop(batch);
        if first {
            self.has_rows.notify_one();
        }
        if full {
            self.flush_now.notify_one();
        }
        true
    }

    /// Asks for everything so far to be written.
    fn request_flush(&self) -> oneshot::Receiver<()> {
        let (done, written) = oneshot::channel();
        self.batch().flush_waiters.push(done);
        self.has_rows.notify_one();
        self.flush_now.notify_one();
        written
    }

    async fn next_batch(&self) -> RowBatch {
        self.has_rows.notified().await;
        // Ends early when there is enough, or somebody waits.
        let _ = tokio::time::timeout(FLUSH_INTERVAL, self.flush_now.notified()).await;
        std::mem::take(&mut *self.batch())
    }
}

async fn run_writer(store: Store, pending: Arc<PendingRows>) {
    loop {
        let batch = pending.next_batch().await;
        for rows in batch.rows.chunks(BATCH_ROWS) {
            if write_rows(&store, rows).await {
                continue;
            }
            // Rows of a kind are one, so what waits stays bounded however long it takes.
            for row in rows {
                if !pending.add(row.clone()) {
                    metrics::counter!(DROPPED_METRIC).increment(row.requests);
                }
            }
        }
        for waiter in batch.flush_waiters {
            // Nobody may be waiting any more.
            let _ = waiter.send(());
        }
    }
}

/// Writes rows. False: they could not be written, as the store is full or away, and are
/// to be tried again later. What can never be written is counted as dropped.
async fn write_rows(store: &Store, rows: &[UsageRow]) -> bool {
    for attempt in 1..=MAX_ATTEMPTS {
        match store.record_usage(rows).await {
            Ok(()) => return true,
            Err(error) if !error.is_transient() => {
                let requests: u64 = rows.iter().map(|row| row.requests).sum();
                metrics::counter!(DROPPED_METRIC).increment(requests);
                tracing::error!(requests, %error, "cannot write the usage of requests");
                return true;
            }
            Err(error) if attempt == MAX_ATTEMPTS => {
                tracing::error!(%error, "cannot write the usage of requests; it is kept for later");
                return false;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot write usage yet");
                tokio::time::sleep(FLUSH_INTERVAL * attempt).await;
            }
        }
    }
    false
}

/// Rows that are to be written together, and who waits for that. Rows that agree in all
/// but their counts are one.
#[derive(Default)]
struct RowBatch {
    rows: Vec<UsageRow>,
    /// Where the row of a kind is, by the kind's hash.
    row_indexes: HashMap<u64, usize>,
    /// Kinds of each tenant, with their models.
    kinds: HashMap<TenantId, usize>,
    /// Where the last row went. The next is most often of the same kind.
    last: usize,
    hasher: RandomState,
    flush_waiters: Vec<oneshot::Sender<()>>,
}

impl RowBatch {
    /// Adds a row; false if there is no room.
    fn add(&mut self, row: UsageRow) -> bool {
        let Some(mut row) = self.merge(row) else {
            return true;
        };
        if self.has_capacity(&row.tenant) {
            *self.kinds.entry(row.tenant.clone()).or_default() += 1;
            self.push(row);
            return true;
        }
        // Amounts are never lost to names: budgets are looked up by the key.
        OTHER_MODELS.clone_into(&mut row.model);
        OTHER_MODELS.clone_into(&mut row.upstream_model);
        let Some(row) = self.merge(row) else {
            return true;
        };
        if self.rows.len() >= MAX_ALL_KINDS {
            return false;
        }
        self.push(row);
        true
    }

    /// Whether another kind of a tenant's may be told from its others.
    fn has_capacity(&self, tenant: &TenantId) -> bool {
        let kinds = self.kinds.get(tenant).copied().unwrap_or_default();
        kinds < MAX_TENANT_KINDS && self.rows.len() < MAX_KINDS
    }

    /// Adds a row to that of its kind; gives it back if there is none.
    fn merge(&mut self, row: UsageRow) -> Option<UsageRow> {
        let same = |sum: &&mut UsageRow| row_key(sum) == row_key(&row);
        if let Some(sum) = self.rows.get_mut(self.last).filter(same) {
            add_counts(sum, &row);
            return None;
        }
        let hash = self.hasher.hash_one(row_key(&row));
        self.last = self
            .row_indexes
            .get(&hash)
            .copied()
            .unwrap_or(self.rows.len());
        if let Some(sum) = self.rows.get_mut(self.last).filter(same) {
            add_counts(sum, &row);
            return None;
        }
        Some(row)
    }

    fn push(&mut self, row: UsageRow) {
        let hash = self.hasher.hash_one(row_key(&row));
        self.last = self.rows.len();
        self.row_indexes.insert(hash, self.last);
        self.rows.push(row);
    }
}

/// What rows must agree in to be one.
fn row_key(row: &UsageRow) -> impl Eq + std::hash::Hash + use<'_> {
    (
        row.tenant.as_str(),
        row.key.as_deref(),
        [&row.model, &row.provider, &row.upstream_model, &row.dialect],
        row.status,
    )
}

fn add_counts(sum: &mut UsageRow, row: &UsageRow) {
    for (mine, theirs) in [
        (&mut sum.requests, row.requests),
        (&mut sum.unpriced, row.unpriced),
        (&mut sum.estimated, row.estimated),
        (&mut sum.input_tokens, row.input_tokens),
        (&mut sum.output_tokens, row.output_tokens),
        (&mut sum.cache_read_tokens, row.cache_read_tokens),
        (&mut sum.cache_write_tokens, row.cache_write_tokens),
        (&mut sum.cost_nanos, row.cost_nanos),
        (&mut sum.millis, row.millis),
    ] {
        *mine = mine.saturating_add(theirs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(tenant: &str, model: String) -> UsageRow {
        UsageRow {
            tenant: TenantId::new(tenant).unwrap(),
            key: Some(format!("key_{tenant}")),
            upstream_model: model.clone(),
            model,
            provider: "p".to_owned(),
            dialect: "chat".to_owned(),
            status: 404,
            requests: 1,
            unpriced: 0,
            estimated: 0,
            input_tokens: 3,
            output_tokens: 2,
            cache_read_tokens: 0,
            cache_write_tokens: 0,
            cost_nanos: 7,
            millis: 1,
        }
    }

    fn rows_of<'b>(batch: &'b RowBatch, tenant: &str) -> Vec<&'b UsageRow> {
        let rows = batch.rows.iter();
        rows.filter(|row| row.tenant.as_str() == tenant).collect()
    }

    #[test]
    fn many_names_of_one_tenant_cost_others_no_row_and_nobody_an_amount() {
        let mut batch = RowBatch::default();
        let flood: usize = MAX_ALL_KINDS + 1_000;
        for number in 0..flood {
            assert!(batch.add(row("loud", format!("m{number}"))));
        }
        for number in 0..10 {
            assert!(batch.add(row("quiet", format!("m{number}"))));
        }
        let loud = rows_of(&batch, "loud");
        assert_eq!(loud.len(), MAX_TENANT_KINDS + 1);
        let last = loud.last().unwrap();
        assert_eq!(last.model, OTHER_MODELS);
        assert_eq!(last.key.as_deref(), Some("key_loud"));
        let sum = |count: fn(&UsageRow) -> u64| loud.iter().map(|row| count(row)).sum::<u64>();
        assert_eq!(sum(|row| row.requests), flood as u64);
        assert_eq!(sum(|row| row.cost_nanos), 7 * flood as u64);
        let quiet = rows_of(&batch, "quiet");
        assert_eq!(quiet.len(), 10);
        assert!(quiet.iter().all(|row| row.model != OTHER_MODELS));
    }

    #[test]
    fn when_many_tenants_have_many_names_all_amounts_are_still_there() {
        let mut batch = RowBatch::default();
        let tenants = MAX_KINDS / MAX_TENANT_KINDS + 10;
        for tenant in 0..tenants {
            for number in 0..MAX_TENANT_KINDS + 5 {
                assert!(batch.add(row(&format!("t{tenant}"), format!("m{number}"))));
            }
        }
        let requests: u64 = batch.rows.iter().map(|row| row.requests).sum();
        assert_eq!(requests, (tenants * (MAX_TENANT_KINDS + 5)) as u64);
        assert!(batch.rows.len() <= MAX_KINDS + tenants);
    }
}
