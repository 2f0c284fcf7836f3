//! The end of batches: results, cancelling and expiry.

use prowess_store::{
    AddItemsOutcome, BatchCounts, BatchItemResult, BatchItemState, BatchKind, BatchState, Timestamp,
};

use super::setup::{DAY, create, item, reference, started, succeeded, up_to};
use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    the_last_result_ends_a_batch,
    results_that_are_recorded_together_count_once,
    a_cancelled_batch_starts_nothing_more,
    a_batch_can_be_cancelled_before_it_was_read,
    requests_that_took_too_long_expire,
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
    let added = store.add_batch_items(&bed.tenant, &batch.id, attempt, vec![item(0)]);
    assert_eq!(added.await.unwrap(), AddItemsOutcome::Added);
    let cancelled = store.cancel_batch(&bed.tenant, BatchKind::File, &batch.id);
    assert_eq!(cancelled.await.unwrap().state, BatchState::Cancelled);
    let added = store.add_batch_items(&bed.tenant, &batch.id, attempt, vec![item(1)]);
    assert_eq!(added.await.unwrap(), AddItemsOutcome::Lost);
    // What was read is gone: it counts as stored no more.
    let left = store.batch_results(&bed.tenant, &batch.id, -1, 10).await;
    assert_eq!(left.unwrap(), []);
}

async fn requests_that_took_too_long_expire(bed: TestBed) {
    let store = bed.open().await;
    let batch = started(&store, &bed.tenant, BatchKind::Messages, 4).await;
    let (unread, attempt) = create(&store, &bed.tenant, BatchKind::File).await;
    let added = store.add_batch_items(&bed.tenant, &unread.id, attempt, vec![item(0)]);
    assert_eq!(added.await.unwrap(), AddItemsOutcome::Added);
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
    let left = store.batch_results(&bed.tenant, &unread.id, -1, 10).await;
    assert_eq!(left.unwrap(), []);
    let unread = store.batch(&bed.tenant, BatchKind::File, &unread.id).await;
    assert_eq!(unread.unwrap().state, BatchState::Expired);
}
