//! The list of runs that have not ended.

use std::time::Duration;

use prowess_store::{BeginOutcome, JournalRun, NewJournalRun, RunState, Store, TenantId};

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    open_runs_are_listed_newest_first_for_their_tenant,
}

async fn enqueue(store: &Store, tenant: &TenantId, id: &str) {
    let new = NewJournalRun {
        id,
        api_key: None,
        dialect: "responses",
        model: "m",
        kept: true,
        format: 1,
        idempotency_key: None,
        request_digest: "one",
        request: b"{}",
    };
    let outcome = store.enqueue_run(tenant, &new).await.unwrap();
    assert!(matches!(outcome, BeginOutcome::Started(_)));
}

fn ids(runs: &[JournalRun]) -> Vec<&str> {
    runs.iter().map(|run| run.id.as_str()).collect()
}

async fn open_runs_are_listed_newest_first_for_their_tenant(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    for id in ["run_1", "run_2", "run_3"] {
        enqueue(&store, &bed.tenant, id).await;
    }
    enqueue(&store, &other, "run_4").await;
    store.cancel_run(&bed.tenant, "run_2", &[]).await.unwrap();
    let lease = Duration::from_secs(600);
    store.claim_runs("s", lease, 1, 1, &[]).await.unwrap();

    let open = store.open_runs(&bed.tenant, 9).await.unwrap();
    assert_eq!(ids(&open), ["run_3", "run_1"]);
    let states: Vec<RunState> = open.iter().map(|run| run.state).collect();
    assert_eq!(states, [RunState::Queued, RunState::Running]);
    let newest = store.open_runs(&bed.tenant, 1).await.unwrap();
    assert_eq!(ids(&newest), ["run_3"]);
    let others = store.open_runs(&other, 9).await.unwrap();
    assert_eq!(ids(&others), ["run_4"]);
}
