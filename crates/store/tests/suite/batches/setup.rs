//! What the tests of batches share.

use std::time::Duration;

use prowess_store::{
    AddItemsOutcome, BatchConcurrency, BatchItemRef, BatchItemResult, BatchItemState, BatchKind,
    BatchLimits, BatchRecord, BatchState, NewBatch, NewBatchItem, NewJournalRun, Store, TenantId,
};

pub(super) const HOUR: Duration = Duration::from_secs(3600);
pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);
pub(super) const LIMITS: BatchLimits = BatchLimits {
    open: 100,
    stored_bytes: 1 << 30,
};

/// So many requests of one tenant.
pub(super) fn up_to(tenant: u32) -> BatchConcurrency {
    BatchConcurrency {
        total: 1_000,
        tenant,
    }
}

pub(super) fn new_batch(kind: BatchKind) -> NewBatch<'static> {
    NewBatch {
        kind,
        dialect: "messages",
        api_key: Some("key_1"),
        metadata: "{}",
        input_file: None,
        output_lifetime: DAY,
        expires_in: DAY,
    }
}

pub(super) fn item(seq: i64) -> NewBatchItem {
    NewBatchItem {
        seq,
        custom_id: format!("r{seq}"),
        body: format!("request {seq}").into_bytes(),
    }
}

pub(super) async fn create(
    store: &Store,
    tenant: &TenantId,
    kind: BatchKind,
) -> (BatchRecord, i64) {
    let batch = store.create_batch(tenant, &new_batch(kind), &LIMITS).await;
    let batch = batch.unwrap();
    let attempt = match kind {
        BatchKind::Messages => 0,
        BatchKind::File => {
            let attempt = store.begin_batch_validation(&batch.id).await.unwrap();
            attempt.unwrap()
        }
    };
    (batch, attempt)
}

/// A batch with this many requests.
pub(super) async fn started(
    store: &Store,
    tenant: &TenantId,
    kind: BatchKind,
    items: i64,
) -> String {
    let (batch, attempt) = create(store, tenant, kind).await;
    let all = (0..items).map(item).collect();
    let added = store.add_batch_items(tenant, &batch.id, attempt, all).await;
    assert_eq!(added.unwrap(), AddItemsOutcome::Added);
    let opened = store.start_batch(tenant, &batch.id, attempt).await.unwrap();
    assert_eq!(opened.unwrap().state, BatchState::InProgress);
    batch.id
}

pub(super) fn reference(batch: &str, seq: i64) -> BatchItemRef {
    BatchItemRef {
        batch: batch.to_owned(),
        seq,
    }
}

pub(super) fn succeeded(body: &str) -> BatchItemResult<'_> {
    BatchItemResult {
        state: BatchItemState::Succeeded,
        status: 200,
        body: Some(body),
    }
}

pub(super) async fn other_tenant(store: &Store) -> TenantId {
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    other
}

/// A run in the journal, for any server.
pub(super) async fn enqueue_run(store: &Store, tenant: &TenantId) -> String {
    let id = Store::new_run_id().unwrap();
    let new = NewJournalRun {
        id: &id,
        api_key: None,
        dialect: "messages",
        model: "m",
        kept: true,
        format: 1,
        idempotency_key: None,
        request_digest: "one",
        request: b"{}",
    };
    store.enqueue_run(tenant, &new).await.unwrap();
    id
}
