//! Usage rows: aggregated by requests, written in batches by one task.
//!
//! A request only adds its row to the row of the same kind. The writer is rarely woken for
//! that: waking a task of another thread costs more than serving a request. When too many
//! kinds of a tenant are pending, further ones are aggregated without their models. When even
//! that exceeds the limit, the row is dropped and counted: a response never waits for the
//! database.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use prowess_store::{SkillCost, Store, TenantId, UsageBatch, UsageRow, add_skill_costs};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use super::usage_metrics;

/// Kinds of rows with their models that may be pending: of a tenant, and of all.
const MAX_TENANT_KINDS: usize = 256;
const MAX_KINDS: usize = 16_384;
/// Including those aggregated without their models.
const MAX_ALL_KINDS: usize = 2 * MAX_KINDS;
/// Costs of skills that may be pending; those of further rows are added up per row.
const MAX_SKILL_COSTS: usize = 50_000;
/// The model name of rows aggregated without their models.
const OTHER_MODELS: &str = "(other)";
/// The name of skills whose costs were added up.
const OTHER_SKILLS: &str = "(other)";
/// Rows written at once.
const BATCH_ROWS: usize = 500;
/// How long rows are aggregated.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Attempts to write a batch before those who wait for it are told that it failed.
const MAX_ATTEMPTS: u32 = 5;

const DROPPED_METRIC: &str = "prowess_usage_dropped_total";

/// Collects rows and has them written.
pub(crate) struct UsageLedger {
    store: Store,
    /// The runtime of the writer: a connection's own runtime ends before the server does.
    runtime: Option<Handle>,
    pending: Arc<PendingRows>,
    // Started by the first row, when a runtime is certain to exist.
    writer: OnceLock<()>,
}

/// Rows to be written, and notifications of the writer.
#[derive(Default)]
struct PendingRows {
    batch: Mutex<RowBatch>,
    /// There are rows.
    has_rows: Notify,
    /// They are to be written now.
    flush_now: Notify,
    /// Rows that could not be written yet.
    unwritten: AtomicUsize,
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

    /// Adds a row, or drops it when too many are pending.
    pub(crate) fn record(&self, row: UsageRow) {
        if !self.has_writer() || !self.pending.add(row) {
            metrics::counter!(DROPPED_METRIC).increment(1);
        }
    }

    /// Starts the writer if necessary. A response may be dropped after its runtime has ended;
    /// then there can be none.
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

    /// How many rows wait to be written.
    pub(crate) fn pending(&self) -> usize {
        let unwritten = self.pending.unwritten.load(Ordering::Relaxed);
        self.pending.batch().rows.len() + unwritten
    }

    /// Waits until all rows so far are written, or failed.
    pub(crate) async fn flush(&self) {
        if self.writer.get().is_some() {
            // The writer runs as long as its runtime.
            let _ = self.pending.request_flush().await;
        }
    }
}

impl PendingRows {
    fn batch(&self) -> MutexGuard<'_, RowBatch> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a row; false if the limit is reached.
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

    /// Requests that all rows so far are written.
    fn request_flush(&self) -> oneshot::Receiver<()> {
        let (done, written) = oneshot::channel();
        self.batch().flush_waiters.push(done);
        self.has_rows.notify_one();
        self.flush_now.notify_one();
        written
    }

    async fn next_batch(&self) -> RowBatch {
        self.has_rows.notified().await;
        self.wait().await;
        std::mem::take(&mut *self.batch())
    }

    /// Waits for a moment; less when a batch is full or a flush is requested.
    async fn wait(&self) {
        let _ = tokio::time::timeout(FLUSH_INTERVAL, self.flush_now.notified()).await;
    }
}

async fn run_writer(store: Store, pending: Arc<PendingRows>) {
    // Not merged with later rows when they could not be written: they may have been, so they are
    // written again as they are. Meanwhile later rows of a kind are merged, so that all rows stay
    // bounded however long it takes.
    let mut batches: VecDeque<UsageBatch> = VecDeque::new();
    let mut flush_waiters = Vec::new();
    loop {
        if batches.is_empty() {
            let batch = pending.next_batch().await;
            flush_waiters.extend(batch.flush_waiters);
            let rows = batch.rows.chunks(BATCH_ROWS);
            batches.extend(rows.filter_map(to_usage_batch));
        } else {
            pending.wait().await;
        }
        while let Some(batch) = batches.front() {
            if !write_batch(&store, batch).await {
                // Those who wait for later rows would wait for as long.
                flush_waiters.append(&mut pending.batch().flush_waiters);
                break;
            }
            batch.rows().iter().for_each(usage_metrics::record);
            batches.pop_front();
        }
        pending
            .unwritten
            .store(row_count(&batches), Ordering::Relaxed);
        for waiter in flush_waiters.drain(..) {
            // The receiver may be gone.
            let _ = waiter.send(());
        }
    }
}

/// Rows to be written once; none if they can never be written.
fn to_usage_batch(rows: &[UsageRow]) -> Option<UsageBatch> {
    let batch = UsageBatch::new(rows.to_vec());
    batch.inspect_err(|error| drop_rows(rows, error)).ok()
}

fn drop_rows(rows: &[UsageRow], error: &prowess_store::Error) {
    let requests: u64 = rows.iter().map(|row| row.requests).sum();
    metrics::counter!(DROPPED_METRIC).increment(requests);
    tracing::error!(requests, %error, "cannot write usage rows");
}

fn row_count(batches: &VecDeque<UsageBatch>) -> usize {
    batches.iter().map(|batch| batch.rows().len()).sum()
}

/// Writes rows. Returns false if they could not be written because the store is full or
/// unavailable, and are to be retried later. Rows that can never be written are counted as
/// dropped.
async fn write_batch(store: &Store, batch: &UsageBatch) -> bool {
    for attempt in 1..=MAX_ATTEMPTS {
        match store.record_usage_batch(batch).await {
            Ok(()) => return true,
            Err(error) if !error.is_transient() => {
                drop_rows(batch.rows(), &error);
                return true;
            }
            Err(error) if attempt == MAX_ATTEMPTS => {
                tracing::error!(%error, "cannot write usage rows; they are retried later");
                return false;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot write usage rows yet");
                tokio::time::sleep(FLUSH_INTERVAL * attempt).await;
            }
        }
    }
    false
}

/// Rows to be written together, and who waits for that. Rows that differ only in their counts
/// are merged.
#[derive(Default)]
struct RowBatch {
    rows: Vec<UsageRow>,
    /// Index of the row of a kind, by the kind's hash.
    row_indexes: HashMap<u64, usize>,
    /// Kinds of each tenant, with their models.
    kinds: HashMap<TenantId, usize>,
    /// Index of the last row. The next is usually of the same kind.
    last: usize,
    /// Costs of skills that were added, before merging.
    skill_costs: usize,
    hasher: RandomState,
    flush_waiters: Vec<oneshot::Sender<()>>,
}

impl RowBatch {
    /// Adds a row; false if the limit is reached.
    fn add(&mut self, mut row: UsageRow) -> bool {
        if self.skill_costs + row.skills.len() > MAX_SKILL_COSTS && row.skills.len() > 1 {
            let mut sum = SkillCost::new(OTHER_SKILLS, None);
            row.skills.iter().for_each(|cost| sum.add(cost));
            row.skills = vec![sum];
        }
        self.skill_costs += row.skills.len();
        let Some(mut row) = self.merge(row) else {
            return true;
        };
        if self.has_capacity(&row.tenant) {
            *self.kinds.entry(row.tenant.clone()).or_default() += 1;
            self.push(row);
            return true;
        }
        // Amounts are never lost: budgets are looked up by key, not by model.
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

    /// Whether another kind of a tenant may have its own row.
    fn has_capacity(&self, tenant: &TenantId) -> bool {
        let kinds = self.kinds.get(tenant).copied().unwrap_or_default();
        kinds < MAX_TENANT_KINDS && self.rows.len() < MAX_KINDS
    }

    /// Merges a row into the one of its kind; returns it if there is none.
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

/// The fields that rows must share to be merged.
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
        (&mut sum.sandbox_millis, row.sandbox_millis),
    ] {
        *mine = mine.saturating_add(theirs);
    }
    add_skill_costs(&mut sum.skills, &row.skills);
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
            sandbox_millis: 0,
            skills: Vec::new(),
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

    #[test]
    fn costs_of_any_number_of_skills_are_bounded_and_none_is_lost() {
        let mut batch = RowBatch::default();
        let skills = 900;
        for run in 0..100 {
            let mut row = row("t", format!("m{}", run % 3));
            row.skills = (0..skills)
                .map(|number| {
                    let mut cost = SkillCost::new(&format!("s{run:03}-{number:03}"), None);
                    cost.offered.input_tokens = 1;
                    cost
                })
                .collect();
            assert!(batch.add(row));
        }
        let costs: Vec<_> = batch.rows.iter().flat_map(|row| &row.skills).collect();
        assert!(costs.len() <= MAX_SKILL_COSTS, "{}", costs.len());
        let tokens: u64 = costs.iter().map(|cost| cost.offered.input_tokens).sum();
        assert_eq!(tokens, 100 * skills);
    }
}
