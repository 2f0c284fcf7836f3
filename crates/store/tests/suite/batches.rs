//! Batches: their requests, their scheduling by any number of servers, and their end.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use prowess_store::{
    AddItemsOutcome, BatchConcurrency, BatchCounts, BatchFiles, BatchItemRef, BatchItemResult,
    BatchItemState, BatchKind, BatchLimits, BatchRecord, BatchState, CreateBatchOutcome,
    FileFilter, FinishOutcome, NewBatch, NewBatchItem, NewFile, NewJournalRun, PagePosition,
    PageRequest, RunResult, RunState, Store, TenantId, Timestamp,
};

use crate::testbed::{TestBed, execute, on_both_databases};

on_both_databases! {
    a_batch_is_visible_when_its_requests_are_complete,
    a_name_that_is_used_twice_is_reported_with_its_number,
    a_batch_read_anew_has_each_request_once,
    a_tenant_has_so_many_open_batches,
    a_tenant_stores_so_many_bytes_of_batches,
    a_batch_with_the_same_key_is_created_once,
    a_batch_that_was_not_received_is_created_anew_with_the_same_key,
    all_tenants_share_what_may_run_at_once,
    files_that_cannot_be_written_end_their_batch,
    each_tenant_runs_as_many_requests_as_allowed,
    servers_that_schedule_at_once_start_no_request_twice,
    one_server_schedules_at_a_time,
    a_run_that_ended_is_found_once,
    the_last_result_ends_a_batch,
    results_that_are_recorded_together_count_once,
    a_batch_of_a_file_ends_with_its_files,
    a_cancelled_batch_starts_nothing_more,
    a_batch_can_be_cancelled_before_it_was_read,
    requests_that_took_too_long_expire,
    only_a_batch_that_has_ended_can_be_deleted,
    batches_are_listed_by_kind_and_page,
    nobody_else_sees_a_batch,
    old_batches_are_deleted,
}

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const LIMITS: BatchLimits = BatchLimits {
    open: 100,
    stored_bytes: 1 << 30,
};

/// So many requests of one tenant.
fn up_to(tenant: u32) -> BatchConcurrency {
    BatchConcurrency {
        total: 1_000,
        tenant,
    }
}

fn new_batch(kind: BatchKind) -> NewBatch<'static> {
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

fn item(seq: i64) -> NewBatchItem {
    NewBatchItem {
        seq,
        custom_id: format!("r{seq}"),
        body: format!("request {seq}").into_bytes(),
    }
}

async fn create(store: &Store, tenant: &TenantId, kind: BatchKind) -> (BatchRecord, i64) {
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
async fn started(store: &Store, tenant: &TenantId, kind: BatchKind, items: i64) -> String {
    let (batch, attempt) = create(store, tenant, kind).await;
    let all = (0..items).map(item).collect();
    let added = store.add_batch_items(tenant, &batch.id, attempt, all).await;
    assert_eq!(added.unwrap(), AddItemsOutcome::Added);
    let opened = store.start_batch(tenant, &batch.id, attempt).await.unwrap();
    assert_eq!(opened.unwrap().state, BatchState::InProgress);
    batch.id
}

fn reference(batch: &str, seq: i64) -> BatchItemRef {
    BatchItemRef {
        batch: batch.to_owned(),
        seq,
    }
}

fn succeeded(body: &str) -> BatchItemResult<'_> {
    BatchItemResult {
        state: BatchItemState::Succeeded,
        status: 200,
        body: Some(body),
    }
}

async fn other_tenant(store: &Store) -> TenantId {
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    other
}

/// A run in the journal, for any server.
async fn enqueue_run(store: &Store, tenant: &TenantId) -> String {
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

async fn a_batch_is_visible_when_its_requests_are_complete(bed: TestBed) {
    let store = bed.open().await;
    let kind = BatchKind::Messages;
    let (batch, attempt) = create(&store, &bed.tenant, kind).await;
    assert!(batch.id.starts_with("msgbatch_"), "{}", batch.id);
    let hidden = store.batch(&bed.tenant, kind, &batch.id).await;
    assert_eq!(hidden.unwrap_err().code(), "batch-not-found");
    assert_eq!(store.mark_running_items(up_to(4)).await.unwrap(), 0);
    for part in [vec![item(0), item(1)], vec![item(2)]] {
        let added = store
            .add_batch_items(&bed.tenant, &batch.id, attempt, part)
            .await;
        assert_eq!(added.unwrap(), AddItemsOutcome::Added);
    }
    // Requests of a batch that is not complete are not started.
    assert_eq!(store.mark_running_items(up_to(4)).await.unwrap(), 0);
    let started = store.start_batch(&bed.tenant, &batch.id, attempt).await;
    let started = started.unwrap().unwrap();
    assert_eq!(started.counts.total, 3);
    assert_eq!(started.counts.processing(), 3);
    let found = store.batch(&bed.tenant, kind, &batch.id).await.unwrap();
    assert_eq!(found, started);
    assert_eq!(store.mark_running_items(up_to(4)).await.unwrap(), 3);
    // Nothing is added after that.
    let late = store
        .add_batch_items(&bed.tenant, &batch.id, attempt, vec![item(3)])
        .await;
    assert_eq!(late.unwrap(), AddItemsOutcome::Lost);
    // And one that was given up leaves nothing.
    let (batch, _) = create(&store, &bed.tenant, kind).await;
    store.discard_batch(&bed.tenant, &batch.id).await.unwrap();
    let gone = store.start_batch(&bed.tenant, &batch.id, 0).await.unwrap();
    assert_eq!(gone, None);
}

async fn a_name_that_is_used_twice_is_reported_with_its_number(bed: TestBed) {
    let store = bed.open().await;
    let (batch, attempt) = create(&store, &bed.tenant, BatchKind::File).await;
    let named = |seq, name: &str| NewBatchItem {
        custom_id: name.to_owned(),
        ..item(seq)
    };
    let add = async |items| {
        let added = store.add_batch_items(&bed.tenant, &batch.id, attempt, items);
        match added.await.unwrap() {
            AddItemsOutcome::Duplicates(found) => found.into_iter().map(|item| item.seq).collect(),
            AddItemsOutcome::Added => Vec::new(),
            AddItemsOutcome::Lost => panic!("it is being read"),
        }
    };
    let first = vec![named(0, "a"), named(1, "b"), named(2, "a")];
    assert_eq!(add(first).await, [2]);
    assert_eq!(add(vec![named(3, "c"), named(4, "b")]).await, [4]);
    let errors = "[1]";
    assert!(store.fail_batch(&batch.id, attempt, errors).await.unwrap());
    let failed = store.batch(&bed.tenant, BatchKind::File, &batch.id).await;
    let failed = failed.unwrap();
    assert_eq!(failed.state, BatchState::Failed);
    assert_eq!(failed.errors.as_deref(), Some(errors));
    let results = store.batch_results(&bed.tenant, &batch.id, -1, 10).await;
    assert_eq!(results.unwrap(), []);
}

async fn a_batch_read_anew_has_each_request_once(bed: TestBed) {
    let store = bed.open().await;
    let (batch, first) = create(&store, &bed.tenant, BatchKind::File).await;
    let add = async |attempt| {
        let items = vec![item(0), item(1)];
        let added = store.add_batch_items(&bed.tenant, &batch.id, attempt, items);
        added.await.unwrap()
    };
    assert_eq!(add(first).await, AddItemsOutcome::Added);
    // Its server is lost; another one reads the file from the start.
    let second = store.begin_batch_validation(&batch.id).await.unwrap();
    let second = second.unwrap();
    assert_eq!(add(second).await, AddItemsOutcome::Added);
    // The first server comes back, and has no part in it.
    assert_eq!(add(first).await, AddItemsOutcome::Lost);
    let late = store.start_batch(&bed.tenant, &batch.id, first).await;
    assert_eq!(late.unwrap(), None);
    assert!(!store.fail_batch(&batch.id, first, "[]").await.unwrap());
    let started = store.start_batch(&bed.tenant, &batch.id, second).await;
    assert_eq!(started.unwrap().unwrap().counts.total, 2);
    let again = store.begin_batch_validation(&batch.id).await.unwrap();
    assert_eq!(again, None);
}

async fn a_tenant_has_so_many_open_batches(bed: TestBed) {
    let store = bed.open().await;
    let limits = BatchLimits { open: 2, ..LIMITS };
    let new = new_batch(BatchKind::File);
    let all = (0..6).map(|_| store.create_batch(&bed.tenant, &new, &limits));
    let created = futures_util::future::join_all(all).await;
    let (made, refused): (Vec<_>, Vec<_>) = created.into_iter().partition(Result::is_ok);
    assert_eq!((made.len(), refused.len()), (2, 4));
    for refused in refused {
        assert_eq!(refused.unwrap_err().code(), "too-many-batches");
    }
    let other = other_tenant(&store).await;
    store.create_batch(&other, &new, &limits).await.unwrap();
    let one = made.into_iter().next().unwrap().unwrap();
    let cancelled = store.cancel_batch(&bed.tenant, BatchKind::File, &one.id);
    assert_eq!(cancelled.await.unwrap().state, BatchState::Cancelled);
    store
        .create_batch(&bed.tenant, &new, &limits)
        .await
        .unwrap();
}

async fn a_tenant_stores_so_many_bytes_of_batches(bed: TestBed) {
    let store = bed.open().await;
    let limits = BatchLimits {
        stored_bytes: 10,
        ..LIMITS
    };
    started(&store, &bed.tenant, BatchKind::Messages, 2).await;
    let new = new_batch(BatchKind::Messages);
    let refused = store.create_batch(&bed.tenant, &new, &limits).await;
    assert_eq!(refused.unwrap_err().code(), "storage-quota-exceeded");
}

async fn create_once(
    store: &Store,
    tenant: &TenantId,
    kind: BatchKind,
    key: &str,
) -> (bool, String) {
    let new = new_batch(kind);
    let created = store.create_batch_once(tenant, &new, &LIMITS, key).await;
    match created.unwrap() {
        CreateBatchOutcome::Created(batch) => (true, batch.id),
        CreateBatchOutcome::Existing(batch) => (false, batch.id),
    }
}

async fn a_batch_with_the_same_key_is_created_once(bed: TestBed) {
    let store = bed.open().await;
    let kind = BatchKind::File;
    let servers = [bed.open().await, bed.open().await, bed.open().await];
    let all = servers
        .iter()
        .map(|server| create_once(server, &bed.tenant, kind, "k"));
    let made = futures_util::future::join_all(all).await;
    assert_eq!(made.iter().filter(|(created, _)| *created).count(), 1);
    let first = &made[0].1;
    assert!(made.iter().all(|(_, id)| id == first), "{made:?}");
    // Another key, another kind and another tenant have batches of their own.
    let other = other_tenant(&store).await;
    assert!(create_once(&store, &bed.tenant, kind, "l").await.0);
    assert!(
        create_once(&store, &bed.tenant, BatchKind::Messages, "k")
            .await
            .0
    );
    assert!(create_once(&store, &other, kind, "k").await.0);
    // Also when it has ended.
    store.cancel_batch(&bed.tenant, kind, first).await.unwrap();
    let again = create_once(&store, &bed.tenant, kind, "k").await;
    assert_eq!(again, (false, first.clone()));
}

async fn a_batch_that_was_not_received_is_created_anew_with_the_same_key(bed: TestBed) {
    let store = bed.open().await;
    let kind = BatchKind::Messages;
    let (_, lost) = create_once(&store, &bed.tenant, kind, "k").await;
    let add = async |batch: &str| {
        let items = vec![item(0)];
        let added = store.add_batch_items(&bed.tenant, batch, 0, items).await;
        added.unwrap()
    };
    assert_eq!(add(&lost).await, AddItemsOutcome::Added);
    let (created, batch) = create_once(&store, &bed.tenant, kind, "k").await;
    assert!(created && batch != lost);
    // The first connection is still there, and adds nothing to anything.
    assert_eq!(add(&lost).await, AddItemsOutcome::Lost);
    assert_eq!(add(&batch).await, AddItemsOutcome::Added);
    let opened = store.start_batch(&bed.tenant, &batch, 0).await.unwrap();
    assert_eq!(opened.unwrap().counts.total, 1);
    assert_eq!(
        create_once(&store, &bed.tenant, kind, "k").await,
        (false, batch)
    );
}

async fn all_tenants_share_what_may_run_at_once(bed: TestBed) {
    let store = bed.open().await;
    let other = other_tenant(&store).await;
    started(&store, &bed.tenant, BatchKind::Messages, 20).await;
    let small = started(&store, &other, BatchKind::Messages, 2).await;
    let limits = BatchConcurrency {
        total: 6,
        tenant: 5,
    };
    let running = async |tenant: &TenantId| {
        let items = store.unsubmitted_items(tenant, 100).await.unwrap();
        items.len()
    };
    // What one tenant does not need, the other has in the end.
    while store.mark_running_items(limits).await.unwrap() > 0 {}
    assert_eq!((running(&bed.tenant).await, running(&other).await), (4, 2));
    let item = reference(&small, 0);
    store
        .record_batch_result(&item, &succeeded("{}"))
        .await
        .unwrap();
    while store.mark_running_items(limits).await.unwrap() > 0 {}
    assert_eq!((running(&bed.tenant).await, running(&other).await), (5, 1));
    assert_eq!(store.mark_running_items(limits).await.unwrap(), 0);
}

async fn files_that_cannot_be_written_end_their_batch(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, kind) = (&bed.tenant, BatchKind::File);
    let batch = started(&store, tenant, kind, 1).await;
    store.mark_running_items(up_to(1)).await.unwrap();
    let item = reference(&batch, 0);
    store
        .record_batch_result(&item, &succeeded("{}"))
        .await
        .unwrap();
    let record = async |is_final| {
        let recorded = store.record_finish_error(tenant, &batch, "[1]", is_final);
        let recorded = recorded.await.unwrap();
        (recorded, store.batch(tenant, kind, &batch).await.unwrap())
    };
    let (recorded, waiting) = record(false).await;
    assert!(recorded);
    assert_eq!(
        (waiting.state, waiting.ended_at),
        (BatchState::Finalizing, None)
    );
    assert_eq!(waiting.errors.as_deref(), Some("[1]"));
    let (recorded, failed) = record(true).await;
    assert!(recorded && failed.ended_at.is_some());
    assert_eq!(failed.state, BatchState::Failed);
    assert_eq!(failed.counts.succeeded, 1);
    assert!(!record(true).await.0);
    assert!(!store.has_open_batches().await.unwrap());
}

async fn each_tenant_runs_as_many_requests_as_allowed(bed: TestBed) {
    let store = bed.open().await;
    let other = other_tenant(&store).await;
    let first = started(&store, &bed.tenant, BatchKind::Messages, 2).await;
    let second = started(&store, &bed.tenant, BatchKind::Messages, 5).await;
    let third = started(&store, &other, BatchKind::Messages, 1).await;
    assert_eq!(store.mark_running_items(up_to(3)).await.unwrap(), 4);
    assert_eq!(store.mark_running_items(up_to(3)).await.unwrap(), 0);
    let mut tenants = store.tenants_with_unsubmitted_items().await.unwrap();
    tenants.sort();
    assert_eq!(tenants, [bed.tenant.clone(), other.clone()]);
    let waiting = store.unsubmitted_items(&bed.tenant, 10).await.unwrap();
    let waiting: Vec<_> = waiting.into_iter().map(|found| found.item).collect();
    // The older batch first.
    let expected = [
        reference(&first, 0),
        reference(&first, 1),
        reference(&second, 0),
    ];
    assert_eq!(waiting, expected);
    let of_other = store.unsubmitted_items(&other, 10).await.unwrap();
    assert_eq!(of_other[0].item, reference(&third, 0));
    assert_eq!(of_other[0].api_key.as_deref(), Some("key_1"));
    let body = store.batch_item_body(&expected[1]).await.unwrap();
    assert_eq!(body.as_deref(), Some(&b"request 1"[..]));
    for item in &expected[..2] {
        assert!(
            store
                .record_batch_result(item, &succeeded("{}"))
                .await
                .unwrap()
        );
    }
    assert_eq!(store.mark_running_items(up_to(3)).await.unwrap(), 2);
}

async fn servers_that_schedule_at_once_start_no_request_twice(bed: TestBed) {
    let store = bed.open().await;
    let batch = started(&store, &bed.tenant, BatchKind::Messages, 30).await;
    let servers = [bed.open().await, bed.open().await, bed.open().await];
    let all = servers
        .iter()
        .map(|server| server.mark_running_items(up_to(30)));
    let marked = futures_util::future::join_all(all).await;
    let marked: u64 = marked.into_iter().map(Result::unwrap).sum();
    assert_eq!(marked, 30);
    // A result that two servers found is counted once.
    let item = reference(&batch, 7);
    let all = servers.iter().map(|server| {
        let item = item.clone();
        async move { server.record_batch_result(&item, &succeeded("{}")).await }
    });
    let recorded = futures_util::future::join_all(all).await;
    let recorded = recorded.into_iter().filter(|done| *done.as_ref().unwrap());
    assert_eq!(recorded.count(), 1);
    let found = store.batch(&bed.tenant, BatchKind::Messages, &batch).await;
    assert_eq!(found.unwrap().counts.succeeded, 1);
}

async fn one_server_schedules_at_a_time(bed: TestBed) {
    let store = bed.open().await;
    let lease = Duration::from_secs(600);
    assert!(store.lease_batch_scheduler("a", lease).await.unwrap());
    assert!(!store.lease_batch_scheduler("b", lease).await.unwrap());
    assert!(store.lease_batch_scheduler("a", lease).await.unwrap());
    store.release_batch_scheduler("b").await.unwrap();
    assert!(!store.lease_batch_scheduler("b", lease).await.unwrap());
    store.release_batch_scheduler("a").await.unwrap();
    assert!(
        store
            .lease_batch_scheduler("b", Duration::ZERO)
            .await
            .unwrap()
    );
    // Its time is over at once.
    assert!(store.lease_batch_scheduler("a", lease).await.unwrap());
    assert!(!store.has_open_batches().await.unwrap());
    started(&store, &bed.tenant, BatchKind::Messages, 1).await;
    assert!(store.has_open_batches().await.unwrap());
}

async fn a_run_that_ended_is_found_once(bed: TestBed) {
    let store = bed.open().await;
    let batch = started(&store, &bed.tenant, BatchKind::Messages, 2).await;
    store.mark_running_items(up_to(4)).await.unwrap();
    let run = enqueue_run(&store, &bed.tenant).await;
    store
        .set_batch_item_run(&reference(&batch, 0), &run)
        .await
        .unwrap();
    store
        .set_batch_item_run(&reference(&batch, 1), "run_deleted")
        .await
        .unwrap();
    assert_eq!(store.tenants_with_unsubmitted_items().await.unwrap(), []);
    let ended = async || {
        let found = store.ended_item_runs(10).await.unwrap();
        let mut seqs: Vec<_> = found.into_iter().map(|found| found.item.seq).collect();
        seqs.sort_unstable();
        seqs
    };
    assert_eq!(ended().await, [1]);
    let claimed = store.claim_runs("a", DAY, 1, 10, &[]).await.unwrap();
    assert_eq!(ended().await, [1]);
    let result = RunResult {
        state: RunState::Completed,
        body: "{}",
        events: None,
    };
    let _ = store
        .end_run(&claimed[0].lease, &result, &[])
        .await
        .unwrap();
    assert_eq!(ended().await, [0, 1]);
    let item = reference(&batch, 0);
    store
        .record_batch_result(&item, &succeeded("{}"))
        .await
        .unwrap();
    assert_eq!(ended().await, [1]);
}

async fn the_last_result_ends_a_batch(bed: TestBed) {
    let store = bed.open().await;
    let batch = started(&store, &bed.tenant, BatchKind::Messages, 2).await;
    store.mark_running_items(up_to(4)).await.unwrap();
    let get = async || {
        let found = store.batch(&bed.tenant, BatchKind::Messages, &batch).await;
        found.unwrap()
    };
    let (first, result) = (reference(&batch, 0), succeeded("{\"a\":1}"));
    let done = store.record_batch_result(&first, &result).await;
    assert!(done.unwrap());
    let half = get().await;
    assert_eq!((half.state, half.ended_at), (BatchState::InProgress, None));
    let failed = BatchItemResult {
        state: BatchItemState::Errored,
        status: 400,
        body: Some("{\"b\":2}"),
    };
    let item = reference(&batch, 1);
    assert!(store.record_batch_result(&item, &failed).await.unwrap());
    assert!(!store.record_batch_result(&item, &failed).await.unwrap());
    let ended = get().await;
    let counts = BatchCounts {
        total: 2,
        succeeded: 1,
        errored: 1,
        ..BatchCounts::default()
    };
    assert_eq!(ended.counts, counts);
    assert_eq!(ended.state, BatchState::Completed);
    assert!(ended.ended_at.is_some());
    let results = store
        .batch_results(&bed.tenant, &batch, -1, 1)
        .await
        .unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].body.as_deref(), Some("{\"a\":1}"));
    let rest = store
        .batch_results(&bed.tenant, &batch, 0, 10)
        .await
        .unwrap();
    assert_eq!(rest[0].custom_id, "r1");
    assert_eq!(
        (rest[0].state, rest[0].status),
        (BatchItemState::Errored, Some(400))
    );
    // Requests are not stored longer than needed.
    assert_eq!(store.batch_item_body(&item).await.unwrap(), None);
    let running = BatchItemResult {
        state: BatchItemState::Running,
        ..failed
    };
    let refused = store.record_batch_result(&item, &running).await;
    assert_eq!(refused.unwrap_err().code(), "value-invalid");
}

const FILE: NewFile<'static> = NewFile {
    name: "output.jsonl",
    mime: "application/jsonl",
    purpose: "batch_output",
    scope: None,
    downloadable: true,
    expires_in: Some(DAY),
    limit: 10_000_000,
};

fn content(text: &str) -> BoxStream<'static, io::Result<Bytes>> {
    stream::iter([Ok(Bytes::from(text.to_owned()))]).boxed()
}

async fn results_that_are_recorded_together_count_once(bed: TestBed) {
    let store = bed.open().await;
    let batch = started(&store, &bed.tenant, BatchKind::Messages, 4).await;
    store.mark_running_items(up_to(3)).await.unwrap();
    let errored = BatchItemResult {
        state: BatchItemState::Errored,
        status: 400,
        body: Some("{}"),
    };
    let record = async |results: &[(i64, BatchItemResult<'_>)]| {
        let recorded = store.record_batch_results(&batch, results).await;
        recorded.unwrap()
    };
    let first = [(0, succeeded("{}")), (1, errored)];
    assert_eq!(record(&first).await, 2);
    // One that has a result, one that is new, and one that was not started.
    let second = [(1, succeeded("{}")), (2, succeeded("{}")), (3, errored)];
    assert_eq!(record(&second).await, 1);
    assert_eq!(record(&second).await, 0);
    let found = store.batch(&bed.tenant, BatchKind::Messages, &batch).await;
    let counts = found.unwrap().counts;
    assert_eq!(
        (counts.succeeded, counts.errored, counts.processing()),
        (2, 1, 1)
    );
    store.mark_running_items(up_to(3)).await.unwrap();
    assert_eq!(record(&[(3, errored)]).await, 1);
    let ended = store.batch(&bed.tenant, BatchKind::Messages, &batch).await;
    assert_eq!(ended.unwrap().state, BatchState::Completed);
    assert_eq!(
        store.record_batch_results("batch_0", &first).await.unwrap(),
        0
    );
}

async fn a_batch_of_a_file_ends_with_its_files(bed: TestBed) {
    let store = bed.open().await;
    let batch = started(&store, &bed.tenant, BatchKind::File, 1).await;
    assert!(batch.starts_with("batch_"), "{batch}");
    store.mark_running_items(up_to(4)).await.unwrap();
    let item = reference(&batch, 0);
    store
        .record_batch_result(&item, &succeeded("{}"))
        .await
        .unwrap();
    let waiting = store
        .oldest_batches_in_state(BatchState::Finalizing, 10)
        .await;
    let waiting = waiting.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(
        (waiting[0].id.as_str(), waiting[0].ended_at),
        (batch.as_str(), None)
    );
    // The same text in both: contents are stored once.
    let text = "x".repeat(3_000);
    let files = || BatchFiles {
        output: Some((FILE, content(&text))),
        errors: Some((FILE, content(&text))),
    };
    let broken = BatchFiles {
        output: Some((FILE, content(&text))),
        errors: Some((FILE, stream::iter([Err(io::Error::other("gone"))]).boxed())),
    };
    let failed = store.finish_batch(&bed.tenant, &batch, broken).await;
    assert_eq!(failed.unwrap_err().code(), "upload-interrupted");
    let all = (0..2).map(|_| store.finish_batch(&bed.tenant, &batch, files()));
    let finished = futures_util::future::join_all(all).await;
    let mut ended = Vec::new();
    for finished in finished {
        match finished.unwrap() {
            FinishOutcome::Finished(batch) => ended.push(batch),
            FinishOutcome::Lost => {}
        }
    }
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].state, BatchState::Completed);
    let (all, page) = (FileFilter::default(), PageRequest::default());
    let listed = store.list_files(&bed.tenant, &all, &page).await.unwrap();
    assert_eq!(listed.items.len(), 2);
    for file in [&ended[0].output_file, &ended[0].error_file] {
        let id = file.as_deref().unwrap();
        let (_, content) = store.read_file(&bed.tenant, id).await.unwrap();
        assert_eq!(content.collect().await.unwrap(), text);
    }
    let results = store.batch_results(&bed.tenant, &batch, -1, 10).await;
    assert_eq!(results.unwrap(), []);
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(bed.objects(), 1);
}

async fn a_cancelled_batch_starts_nothing_more(bed: TestBed) {
    let store = bed.open().await;
    let kind = BatchKind::Messages;
    let batch = started(&store, &bed.tenant, kind, 5).await;
    store.mark_running_items(up_to(2)).await.unwrap();
    store
        .set_batch_item_run(&reference(&batch, 0), "run_1")
        .await
        .unwrap();
    let cancelled = store.cancel_batch(&bed.tenant, kind, &batch).await.unwrap();
    assert_eq!(cancelled.state, BatchState::Cancelling);
    assert_eq!(cancelled.counts.cancelled, 3);
    let again = store.cancel_batch(&bed.tenant, kind, &batch).await.unwrap();
    assert_eq!(again, cancelled);
    assert_eq!(store.mark_running_items(up_to(4)).await.unwrap(), 0);
    let stop = store.item_runs_to_stop(10).await.unwrap();
    assert_eq!(stop.len(), 1);
    assert_eq!(stop[0].run, "run_1");
    store.mark_item_stopping(&stop[0].item).await.unwrap();
    assert_eq!(store.item_runs_to_stop(10).await.unwrap(), []);
    // One had its response before; the other was cancelled.
    store
        .record_batch_result(&reference(&batch, 1), &succeeded("{}"))
        .await
        .unwrap();
    let result = BatchItemResult {
        state: BatchItemState::Cancelled,
        status: 499,
        body: None,
    };
    store
        .record_batch_result(&reference(&batch, 0), &result)
        .await
        .unwrap();
    let ended = store.batch(&bed.tenant, kind, &batch).await.unwrap();
    assert_eq!(ended.state, BatchState::Cancelled);
    assert_eq!((ended.counts.cancelled, ended.counts.succeeded), (4, 1));
    // One without running requests ends at once.
    let batch = started(&store, &bed.tenant, kind, 2).await;
    let ended = store.cancel_batch(&bed.tenant, kind, &batch).await.unwrap();
    assert_eq!(ended.state, BatchState::Cancelled);
    assert!(ended.ended_at.is_some());
}

async fn a_batch_can_be_cancelled_before_it_was_read(bed: TestBed) {
    let store = bed.open().await;
    let (batch, attempt) = create(&store, &bed.tenant, BatchKind::File).await;
    let cancelled = store.cancel_batch(&bed.tenant, BatchKind::File, &batch.id);
    assert_eq!(cancelled.await.unwrap().state, BatchState::Cancelled);
    let added = store.add_batch_items(&bed.tenant, &batch.id, attempt, vec![item(0)]);
    assert_eq!(added.await.unwrap(), AddItemsOutcome::Lost);
}

async fn requests_that_took_too_long_expire(bed: TestBed) {
    let store = bed.open().await;
    let batch = started(&store, &bed.tenant, BatchKind::Messages, 4).await;
    let (unread, _) = create(&store, &bed.tenant, BatchKind::File).await;
    store.mark_running_items(up_to(2)).await.unwrap();
    store
        .set_batch_item_run(&reference(&batch, 0), "run_1")
        .await
        .unwrap();
    store
        .record_batch_result(&reference(&batch, 1), &succeeded("{}"))
        .await
        .unwrap();
    let now = Timestamp::now();
    assert_eq!(store.expire_batches(now, 10).await.unwrap(), []);
    let runs = store.expire_batches(now.after(DAY), 10).await.unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].run, "run_1");
    assert_eq!(store.expire_batches(now.after(DAY), 10).await.unwrap(), []);
    let ended = store.batch(&bed.tenant, BatchKind::Messages, &batch).await;
    let ended = ended.unwrap();
    assert_eq!(ended.state, BatchState::Expired);
    assert_eq!((ended.counts.expired, ended.counts.succeeded), (3, 1));
    let unread = store.batch(&bed.tenant, BatchKind::File, &unread.id).await;
    assert_eq!(unread.unwrap().state, BatchState::Expired);
}

async fn only_a_batch_that_has_ended_can_be_deleted(bed: TestBed) {
    let store = bed.open().await;
    let kind = BatchKind::Messages;
    let batch = started(&store, &bed.tenant, kind, 1).await;
    let refused = store.delete_batch(&bed.tenant, kind, &batch).await;
    assert_eq!(refused.unwrap_err().code(), "batch-in-progress");
    store.cancel_batch(&bed.tenant, kind, &batch).await.unwrap();
    store.delete_batch(&bed.tenant, kind, &batch).await.unwrap();
    let gone = store.delete_batch(&bed.tenant, kind, &batch).await;
    assert_eq!(gone.unwrap_err().code(), "batch-not-found");
}

async fn batches_are_listed_by_kind_and_page(bed: TestBed) {
    let store = bed.open().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(started(&store, &bed.tenant, BatchKind::Messages, 1).await);
    }
    started(&store, &bed.tenant, BatchKind::File, 1).await;
    // Not complete, so not listed.
    create(&store, &bed.tenant, BatchKind::Messages).await;
    let list = async |from| {
        let page = PageRequest {
            limit: 2,
            from,
            ..PageRequest::default()
        };
        let kind = BatchKind::Messages;
        store.list_batches(&bed.tenant, kind, &page).await.unwrap()
    };
    let first = list(PagePosition::Start).await;
    let found: Vec<_> = first.items.iter().map(|batch| &batch.id).collect();
    assert_eq!(found, [&ids[2], &ids[1]]);
    let rest = list(PagePosition::After(first.next.unwrap())).await;
    assert_eq!(rest.items[0].id, ids[0]);
    assert!(rest.next.is_none());
}

async fn nobody_else_sees_a_batch(bed: TestBed) {
    let store = bed.open().await;
    let other = other_tenant(&store).await;
    let kind = BatchKind::Messages;
    let batch = started(&store, &bed.tenant, kind, 1).await;
    for refused in [
        store.batch(&other, kind, &batch).await.map(drop),
        store.cancel_batch(&other, kind, &batch).await.map(drop),
        store.delete_batch(&other, kind, &batch).await,
        store
            .batch(&bed.tenant, BatchKind::File, &batch)
            .await
            .map(drop),
    ] {
        assert_eq!(refused.unwrap_err().code(), "batch-not-found");
    }
    let page = PageRequest::default();
    let listed = store.list_batches(&other, kind, &page).await.unwrap();
    assert_eq!(listed.items, []);
    let results = store.batch_results(&other, &batch, -1, 10).await.unwrap();
    assert_eq!(results, []);
    let nobody = TenantId::new("nobody").unwrap();
    let refused = store.create_batch(&nobody, &new_batch(kind), &LIMITS).await;
    assert_eq!(refused.unwrap_err().code(), "tenant-not-found");
}

async fn old_batches_are_deleted(bed: TestBed) {
    let store = bed.open().await;
    let messages = BatchKind::Messages;
    let old = started(&store, &bed.tenant, messages, 1_500).await;
    let young = started(&store, &bed.tenant, messages, 1).await;
    // Files of results have a lifetime of their own, so their batch is stored longer.
    let (old_file, _) = create(&store, &bed.tenant, BatchKind::File).await;
    let (young_file, _) = create(&store, &bed.tenant, BatchKind::File).await;
    let (receiving, _) = create(&store, &bed.tenant, messages).await;
    let ended = [
        (messages, &old, DAY + HOUR, true),
        (messages, &young, DAY - HOUR, false),
        (BatchKind::File, &old_file.id, DAY * 30, true),
        (BatchKind::File, &young_file.id, DAY * 28, false),
    ];
    let at = |age: Duration| Timestamp::now().before(age).as_micros();
    for (kind, id, age, _) in ended {
        store.cancel_batch(&bed.tenant, kind, id).await.unwrap();
        let age = at(age);
        let sql = format!("UPDATE batches SET ended_at = {age} WHERE id = '{id}'");
        execute(&bed, &sql).await;
    }
    let sql = format!(
        "UPDATE batches SET created_at = {} WHERE id = '{}'",
        at(DAY),
        receiving.id
    );
    execute(&bed, &sql).await;
    store.collect_garbage(Duration::ZERO).await.unwrap();
    for (kind, id, age, is_gone) in ended {
        let found = store.batch(&bed.tenant, kind, id).await;
        assert_eq!(found.is_err(), is_gone, "{kind:?} {age:?}");
    }
    let results = store
        .batch_results(&bed.tenant, &old, -1, 10)
        .await
        .unwrap();
    assert_eq!(results, []);
    let late = store.start_batch(&bed.tenant, &receiving.id, 0).await;
    assert_eq!(late.unwrap(), None);
}
