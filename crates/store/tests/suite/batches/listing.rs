//! Listing and deleting batches, and who sees them.

use std::time::Duration;

use prowess_store::{BatchKind, PagePosition, PageRequest, TenantId, Timestamp};

use super::setup::{DAY, HOUR, LIMITS, create, new_batch, other_tenant, started};
use crate::testbed::{TestBed, execute, on_both_databases};

on_both_databases! {
    only_a_batch_that_has_ended_can_be_deleted,
    batches_are_listed_by_kind_and_page,
    nobody_else_sees_a_batch,
    old_batches_are_deleted,
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
