//! Scheduling the requests of batches, by any number of servers.

use std::time::Duration;

use prowess_store::{BatchConcurrency, BatchKind, RunResult, RunState, TenantId};

use super::setup::{DAY, enqueue_run, other_tenant, reference, started, succeeded, up_to};
use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    all_tenants_share_what_may_run_at_once,
    each_tenant_runs_as_many_requests_as_allowed,
    servers_that_schedule_at_once_start_no_request_twice,
    one_server_schedules_at_a_time,
    a_run_that_ended_is_found_once,
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
    let claimed = store.claim_runs("a", DAY, 1, 10, &[], &[]).await.unwrap();
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
