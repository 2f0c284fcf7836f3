//! What is stored of kept runs counts in the quota of their tenant, as long as it is stored.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use prowess_skill::Digest;
use prowess_store::{
    AppendOutcome, BeginOutcome, ContainerChange, ContainerEntry, ContainerRecord, EntryContent,
    Error, NewJournalRun, NewStep, RunLease, RunResult, RunState, StepChanges, StepKind,
    StorageLimits, Store, TenantId,
};
use serde_json::Value;

use crate::testbed::{TestBed, execute, on_both_databases};

on_both_databases! {
    requests_of_runs_count_until_they_are_deleted,
    files_of_containers_count_until_they_are_deleted,
    runs_of_one_tenant_that_begin_at_once_do_not_exceed_the_quota,
    runs_of_one_tenant_that_are_submitted_at_once_do_not_exceed_their_number,
}

const LEASE: Duration = Duration::from_secs(600);

async fn limited(bed: &mut TestBed) -> Store {
    bed.config.limits = StorageLimits {
        bytes: Some(10_000),
        ..StorageLimits::default()
    };
    bed.open().await
}

async fn used(store: &Store, tenant: &TenantId) -> u64 {
    store.storage_usage(tenant).await.unwrap().bytes
}

async fn begin(store: &Store, tenant: &TenantId, bytes: usize) -> Result<RunLease, Error> {
    let (id, request) = (Store::new_run_id().unwrap(), vec![1; bytes]);
    let new = NewJournalRun {
        id: &id,
        api_key: None,
        dialect: "chat",
        model: "m",
        kept: true,
        format: 1,
        idempotency_key: None,
        request_digest: "d",
        request: &request,
    };
    match store.begin_run(tenant, &new, "a", LEASE).await? {
        BeginOutcome::Started(lease) => Ok(lease),
        other @ BeginOutcome::Existing { .. } => panic!("{other:?}"),
    }
}

async fn end(store: &Store, lease: &RunLease) {
    let result = RunResult {
        state: RunState::Completed,
        body: "{}",
        events: None,
    };
    let _ended = store.end_run(lease, &result, &[]).await.unwrap();
}

async fn requests_of_runs_count_until_they_are_deleted(mut bed: TestBed) {
    let store = limited(&mut bed).await;
    let lease = begin(&store, &bed.tenant, 6_000).await.unwrap();
    let error = begin(&store, &bed.tenant, 4_001).await.unwrap_err();
    assert_eq!(error.code(), "storage-quota-exceeded", "{error}");
    assert_eq!(store.count_open_runs(&bed.tenant).await.unwrap(), 1);
    assert_eq!(used(&store, &bed.tenant).await, 6_000);
    end(&store, &lease).await;
    assert_eq!(used(&store, &bed.tenant).await, 6_000);
    let long_ago = "UPDATE journal_runs SET ended_at = 1 WHERE ended_at IS NOT NULL";
    execute(&bed, long_ago).await;
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(used(&store, &bed.tenant).await, 0);
    begin(&store, &bed.tenant, 10_000).await.unwrap();
}

/// Appends a step that replaces the file `log` of a container by one of this size.
async fn replace_log(
    store: &Store,
    lease: &mut RunLease,
    container: &str,
    size: usize,
) -> Result<AppendOutcome, Error> {
    let bytes = Bytes::from(vec![b'x'; size]);
    let digest = Digest::from_content(&bytes);
    let files = store.container_files(&lease.tenant, container).await?;
    let changes = StepChanges {
        contents: store
            .stage_contents(BTreeMap::from([(digest, bytes)]))
            .await?,
        container: Some(ContainerChange {
            container: container.to_owned(),
            generation: files.unwrap().generation,
            changed: vec![ContainerEntry {
                path: "log".to_owned(),
                content: EntryContent::File(digest),
                size: i64::try_from(size).unwrap(),
                mode: 0o644,
            }],
            removed: Vec::new(),
            files_digest: None,
        }),
        ..StepChanges::default()
    };
    let step = NewStep {
        kind: StepKind::ToolResult,
        call: None,
        body: "{}",
    };
    store.append_step(lease, &step, changes, LEASE).await
}

async fn files_of_containers_count_until_they_are_deleted(mut bed: TestBed) {
    let store = limited(&mut bed).await;
    let mut lease = begin(&store, &bed.tenant, 1_000).await.unwrap();
    let containers = ["container_1", "container_2"];
    for id in containers {
        let record = ContainerRecord {
            id: id.to_owned(),
            upstream: None,
            skills: Value::Null,
        };
        store.save_container(&bed.tenant, &record).await.unwrap();
    }
    let [first, second] = containers;
    let stored = replace_log(&store, &mut lease, first, 5_000).await;
    assert_eq!(stored.unwrap(), AppendOutcome::Committed);
    assert_eq!(used(&store, &bed.tenant).await, 6_000);
    let objects = bed.objects();
    let error = replace_log(&store, &mut lease, second, 4_001).await;
    assert_eq!(error.unwrap_err().code(), "storage-quota-exceeded");
    assert_eq!(bed.objects(), objects);
    // Only what it adds counts.
    let stored = replace_log(&store, &mut lease, first, 9_000).await;
    assert_eq!(stored.unwrap(), AppendOutcome::Committed);
    let stored = replace_log(&store, &mut lease, first, 100).await;
    assert_eq!(stored.unwrap(), AppendOutcome::Committed);
    assert_eq!(used(&store, &bed.tenant).await, 1_100);
    let stored = replace_log(&store, &mut lease, second, 300).await;
    assert_eq!(stored.unwrap(), AppendOutcome::Committed);
    let deleted = store.delete_container_files(&bed.tenant, first).await;
    deleted.unwrap();
    assert_eq!(used(&store, &bed.tenant).await, 1_300);
    end(&store, &lease).await;
    execute(&bed, "UPDATE sessions SET used_at = 1").await;
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(used(&store, &bed.tenant).await, 1_000);
}

async fn runs_of_one_tenant_that_begin_at_once_do_not_exceed_the_quota(mut bed: TestBed) {
    let store = limited(&mut bed).await;
    let other = bed.open().await;
    let runs = (0..20).map(|number| {
        let store = if number % 2 == 0 { &store } else { &other };
        begin(store, &bed.tenant, 1_000)
    });
    let runs = futures_util::future::join_all(runs).await;
    assert_eq!(runs.iter().filter(|lease| lease.is_ok()).count(), 10);
    assert_eq!(used(&store, &bed.tenant).await, 10_000);
}

async fn runs_of_one_tenant_that_are_submitted_at_once_do_not_exceed_their_number(bed: TestBed) {
    let store = bed.open().await;
    let submit = async |owner: Option<&str>| {
        let id = Store::new_run_id().unwrap();
        let new = NewJournalRun {
            id: &id,
            api_key: None,
            dialect: "chat",
            model: "m",
            kept: true,
            format: 1,
            idempotency_key: None,
            request_digest: "d",
            request: b"{}",
        };
        let owner = owner.map(|owner| (owner, LEASE));
        store.submit_run(&bed.tenant, &new, owner, None, 3).await
    };
    let submitted = (0..6).map(|_| submit(Some("a")));
    let submitted = futures_util::future::join_all(submitted).await;
    let (mut started, mut refused) = (Vec::new(), 0);
    for outcome in submitted {
        match outcome {
            Ok(BeginOutcome::Started(lease)) => started.push(lease),
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert_eq!(error.code(), "runs-too-many", "{error}");
                refused += 1;
            }
        }
    }
    assert_eq!((started.len(), refused), (3, 3));
    // One that has ended makes room for another, which counts while it waits for a server.
    end(&store, &started[0]).await;
    submit(None).await.unwrap();
    submit(None).await.unwrap_err();
}
