//! Containers of a cluster that kept runs use.

use std::time::Duration;

use prowess_skill::Digest;
use prowess_store::{
    AppendOutcome, BeginCommandOutcome, BeginOutcome, CommitCommandOutcome, ContainerRecord,
    ContainerUpdate, ContainerUser, EndOutcome, HoldOutcome, NewJournalRun, NewStep, RunLease,
    RunResult, RunState, StepChanges, StepKind, Store, TenantId, UpdateContainerOutcome,
};
use serde_json::json;

use super::setup::{HOLD, begin, busy, change, commit, create, file, put, put_file, stage};
use crate::testbed::{TestBed, execute, on_both_databases};

on_both_databases! {
    a_run_records_a_container_that_the_cluster_created_for_it,
    only_the_run_that_holds_a_container_uses_it,
    a_run_waits_for_a_command_that_is_not_part_of_it,
    a_command_of_a_lost_server_does_not_delay_its_run,
    a_container_that_a_run_holds_does_not_expire,
}

const TURN: NewStep<'static> = NewStep {
    kind: StepKind::Turn,
    call: None,
    body: "{}",
};

fn new_run(id: &str) -> NewJournalRun<'_> {
    NewJournalRun {
        id,
        api_key: None,
        dialect: "responses",
        model: "m",
        kept: true,
        format: 1,
        idempotency_key: None,
        request_digest: "one",
        request: b"{}",
    }
}

async fn begin_run(store: &Store, tenant: &TenantId) -> RunLease {
    let id = Store::new_run_id().unwrap();
    match store.begin_run(tenant, &new_run(&id), "a", HOLD).await {
        Ok(BeginOutcome::Started(lease)) => lease,
        other => panic!("{other:?}"),
    }
}

async fn end_run(store: &Store, lease: &RunLease) {
    let result = RunResult {
        state: RunState::Completed,
        body: "{}",
        events: None,
    };
    let ended = store.end_run(lease, &result, &[]).await.unwrap();
    assert_eq!(ended, EndOutcome::Ended);
}

async fn begin_as(
    store: &Store,
    tenant: &TenantId,
    id: &str,
    holder: &str,
    user: ContainerUser<'_>,
) -> BeginCommandOutcome {
    let held = store.begin_command(tenant, id, holder, HOLD, user);
    held.await.unwrap()
}

fn first_step(id: &str, generation: i64) -> StepChanges {
    StepChanges {
        new_container: Some(ContainerRecord {
            id: id.to_owned(),
            upstream: None,
            skills: json!(["one"]),
        }),
        container: Some(change(id, generation, Vec::new())),
        ..StepChanges::default()
    }
}

async fn a_run_records_a_container_that_the_cluster_created_for_it(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    put_file(&store, tenant, id, "a", b"one").await;
    let mut lease = begin_run(&store, tenant).await;
    let mut other = begin_run(&store, tenant).await;
    let appended = store.append_step(&mut lease, &TURN, first_step(id, 1), HOLD);
    assert_eq!(appended.await.unwrap(), AppendOutcome::Committed);
    assert!(store.is_container_held(tenant, id).await.unwrap());
    let record = store.container(tenant, id).await.unwrap().unwrap();
    assert_eq!(record.skills, json!(["one"]));
    let found = store.cluster_container(tenant, id).await.unwrap().unwrap();
    assert_eq!(found.generation, 2);
    assert_eq!(found.files_digest, Some(Digest::from_content(b"all files")));
    // It is not another run's, nor another tenant's.
    let appended = store.append_step(&mut other, &TURN, first_step(id, 2), HOLD);
    assert_eq!(appended.await.unwrap(), AppendOutcome::ContainerChanged);
    let stranger = TenantId::new("stranger").unwrap();
    store.ensure_tenant(&stranger, "Stranger").await.unwrap();
    let mut theirs = begin_run(&store, &stranger).await;
    end_run(&store, &lease).await;
    let appended = store.append_step(&mut theirs, &TURN, first_step(id, 2), HOLD);
    assert_eq!(appended.await.unwrap(), AppendOutcome::ContainerChanged);
    let appended = store.append_step(&mut other, &TURN, first_step(id, 2), HOLD);
    assert_eq!(appended.await.unwrap(), AppendOutcome::Committed);
}

async fn only_the_run_that_holds_a_container_uses_it(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    let mut lease = begin_run(&store, tenant).await;
    let held = store.hold_container(&lease, id).await.unwrap();
    assert_eq!(held, HoldOutcome::Held { generation: 0 });
    for user in [ContainerUser::Anyone, ContainerUser::Run("run_other")] {
        let refused = begin_as(&store, tenant, id, "command 1", user).await;
        assert_eq!(refused, busy(&lease.run));
    }
    let refused = put(&store, tenant, id, "a", b"one").await.unwrap();
    let by = lease.run.clone();
    assert_eq!(refused, UpdateContainerOutcome::Busy { by });
    let update = ContainerUpdate {
        user: ContainerUser::HoldingRun,
        generation: Some(0),
        changed: vec![file("a", b"one")],
        removed: Vec::new(),
        files_digest: None,
        contents: stage(&store, &[b"one"]).await,
        setup: None,
    };
    let changed = store.change_container_files(tenant, id, update).await;
    assert_eq!(
        changed.unwrap(),
        UpdateContainerOutcome::Changed { generation: 1 }
    );
    // A command of the run leaves its changes to the step.
    let user = ContainerUser::Run(&lease.run);
    let held = begin_as(&store, tenant, id, "command 1", user).await;
    assert!(matches!(held, BeginCommandOutcome::Held(_)));
    let ended = store.end_command(tenant, id, "command 1", Some("worker 1"));
    ended.await.unwrap();
    let changes = StepChanges {
        contents: stage(&store, &[b"two"]).await,
        container: Some(change(id, 1, vec![file("a", b"two")])),
        ..StepChanges::default()
    };
    let appended = store.append_step(&mut lease, &TURN, changes, HOLD).await;
    assert_eq!(appended.unwrap(), AppendOutcome::Committed);
    end_run(&store, &lease).await;
    let held = begin(&store, tenant, id, "command 2", HOLD).await;
    let BeginCommandOutcome::Held(container) = held else {
        panic!("{held:?}");
    };
    assert_eq!(container.generation, 2);
}

async fn a_run_waits_for_a_command_that_is_not_part_of_it(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    begin(&store, tenant, id, "command 1", HOLD).await;
    // Not even a run that begins in the container gets it.
    let run = Store::new_run_id().unwrap();
    let new = new_run(&run);
    let started = store.begin_run_in(tenant, &new, "a", HOLD, id);
    let Ok(BeginOutcome::Started(lease)) = started.await else {
        panic!("the run is new");
    };
    assert!(!store.is_container_held(tenant, id).await.unwrap());
    let held = store.hold_container(&lease, id).await.unwrap();
    let run = "command 1".to_owned();
    assert_eq!(held, HoldOutcome::Busy { run });
    let contents = stage(&store, &[b"one"]).await;
    let commit = commit(
        "command 1",
        change(id, 0, vec![file("a", b"one")]),
        contents,
    );
    let committed = store.commit_command(tenant, commit).await.unwrap();
    assert_eq!(committed, CommitCommandOutcome::Committed { generation: 1 });
    let held = store.hold_container(&lease, id).await.unwrap();
    assert_eq!(held, HoldOutcome::Held { generation: 1 });
}

/// The time of a command runs out, its server does not notice, and a run takes the container.
async fn a_command_of_a_lost_server_does_not_delay_its_run(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    let lease = begin_run(&store, tenant).await;
    begin(&store, tenant, id, "command 1", Duration::ZERO).await;
    let held = store.hold_container(&lease, id).await.unwrap();
    assert_eq!(held, HoldOutcome::Held { generation: 0 });
    let renewed = store.renew_command(tenant, id, "command 1", HOLD).await;
    assert!(!renewed.unwrap());
    let contents = stage(&store, &[b"late"]).await;
    let late = commit(
        "command 1",
        change(id, 0, vec![file("a", b"late")]),
        contents,
    );
    let late = store.commit_command(tenant, late).await.unwrap();
    assert_eq!(late, CommitCommandOutcome::Lost);
    // A command of the run itself, whose server was lost, is taken over at once.
    let user = ContainerUser::Run(&lease.run);
    for holder in ["command 2", "command 3"] {
        let held = begin_as(&store, tenant, id, holder, user).await;
        assert!(matches!(held, BeginCommandOutcome::Held(_)), "{holder}");
    }
    let renewed = store.renew_command(tenant, id, "command 2", HOLD).await;
    assert!(!renewed.unwrap());
    let ended = store.end_command(tenant, id, "command 2", None);
    ended.await.unwrap();
    let renewed = store.renew_command(tenant, id, "command 3", HOLD).await;
    assert!(renewed.unwrap());
}

async fn a_container_that_a_run_holds_does_not_expire(bed: TestBed) {
    let store = bed.open().await;
    let (tenant, id) = (&bed.tenant, "container_1");
    create(&store, tenant, id).await;
    let lease = begin_run(&store, tenant).await;
    let held = store.hold_container(&lease, id).await.unwrap();
    assert_eq!(held, HoldOutcome::Held { generation: 0 });
    execute(
        &bed,
        "UPDATE cluster_containers SET used_at = 0, created_at = 0",
    )
    .await;
    let expire = async || {
        let expired = store.expire_cluster_containers(HOLD, HOLD, 10);
        expired.await.unwrap()
    };
    assert_eq!(expire().await, []);
    end_run(&store, &lease).await;
    assert_eq!(expire().await, [(tenant.clone(), id.to_owned())]);
}
