//! Creating batches: their requests, names, keys and limits.

use prowess_store::{
    AddItemsOutcome, BatchKind, BatchLimits, BatchState, CreateBatchOutcome, NewBatchItem, Store,
    TenantId,
};

use super::setup::{LIMITS, create, item, new_batch, other_tenant, started, up_to};
use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    a_batch_is_visible_when_its_requests_are_complete,
    a_name_that_is_used_twice_is_reported_with_its_number,
    a_batch_read_anew_has_each_request_once,
    a_tenant_has_so_many_open_batches,
    a_tenant_stores_so_many_bytes_of_batches,
    batches_that_were_created_at_the_same_moment_share_those_bytes,
    a_batch_with_the_same_key_is_created_once,
    a_batch_that_was_not_received_is_created_anew_with_the_same_key,
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
    let set_metadata = async |metadata: &str| {
        let set = store.set_received_metadata(&bed.tenant, &batch.id, metadata);
        set.await.unwrap();
    };
    set_metadata("{\"a\":1}").await;
    let started = store.start_batch(&bed.tenant, &batch.id, attempt).await;
    let started = started.unwrap().unwrap();
    assert_eq!(started.counts.total, 3);
    assert_eq!(started.counts.processing(), 3);
    assert_eq!(started.metadata, "{\"a\":1}");
    // It stays as it was when the requests were complete.
    set_metadata("{}").await;
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

async fn batches_that_were_created_at_the_same_moment_share_those_bytes(bed: TestBed) {
    let store = bed.open().await;
    let limits = BatchLimits {
        stored_bytes: 10,
        ..LIMITS
    };
    let new = new_batch(BatchKind::Messages);
    let mut batches = Vec::new();
    for _ in 0..2 {
        // Neither has requests yet.
        let created = store.create_batch(&bed.tenant, &new, &limits).await;
        batches.push(created.unwrap().id);
    }
    let check = async |tenant: &TenantId, batch: &str| {
        store.check_batch_bytes(tenant, batch, &limits).await
    };
    let items = vec![item(0), item(1)];
    let added = store.add_batch_items(&bed.tenant, &batches[0], 0, items);
    assert_eq!(added.await.unwrap(), AddItemsOutcome::Added);
    // Its own bytes do not count: it may be larger than what is left.
    check(&bed.tenant, &batches[0]).await.unwrap();
    let refused = check(&bed.tenant, &batches[1]).await.unwrap_err();
    assert_eq!(refused.code(), "storage-quota-exceeded");
    let other = other_tenant(&store).await;
    check(&other, &batches[1]).await.unwrap();
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
