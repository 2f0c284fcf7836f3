//! The journal: idempotency, events, containers in use, webhooks. The protocol of
//! leases itself is tested in `src/journal/protocol_tests.rs`.

use std::time::Duration;

use prowess_store::{
    AppendOutcome, BeginOutcome, CancelOutcome, ContainerRecord, EndOutcome, HoldOutcome,
    LeaseStatus, NewEventChunk, NewJournalRun, NewStep, NewWebhook, RunLease, RunResult, RunState,
    StepChanges, StepKind, Store, TenantId,
};
use serde_json::Value;

use crate::testbed::{TestBed, execute, on_both_databases};

on_both_databases! {
    a_repeated_idempotency_key_finds_the_first_run,
    an_idempotency_key_belongs_to_its_tenant,
    many_servers_claim_each_run_once,
    a_run_of_a_newer_format_is_left_alone,
    a_run_that_a_newer_server_had_is_left_alone,
    a_postponed_run_waits_behind_the_others_and_can_be_cancelled,
    a_run_that_is_given_back_waits_before_the_others_and_can_be_cancelled,
    a_run_that_is_to_be_cancelled_is_claimed_although_its_tenant_has_no_place,
    runs_of_some_keys_can_be_left_for_later_unless_they_have_steps,
    events_are_consecutive_and_read_from_any_number,
    a_server_without_its_lease_stores_no_events,
    a_container_is_used_by_one_run_at_a_time,
    a_container_is_held_from_the_beginning_if_it_is_free,
    the_end_of_a_run_and_its_webhooks_are_one,
    a_webhook_is_due_until_it_was_delivered,
    webhooks_of_some_tenants_can_be_left_for_later,
    another_tenant_finds_nothing,
    ended_runs_are_deleted_in_the_end,
}

const LEASE: Duration = Duration::from_secs(600);
const TURN: NewStep<'static> = NewStep {
    kind: StepKind::Turn,
    call: None,
    body: "{}",
};

fn new_run(id: &str) -> NewJournalRun<'_> {
    NewJournalRun {
        id,
        api_key: Some("key_1"),
        dialect: "responses",
        model: "m",
        kept: true,
        format: 1,
        idempotency_key: None,
        request_digest: "one",
        request: b"\0request",
    }
}

async fn begin(store: &Store, tenant: &TenantId) -> RunLease {
    let id = Store::new_run_id().unwrap();
    match store.begin_run(tenant, &new_run(&id), "a", LEASE).await {
        Ok(BeginOutcome::Started(lease)) => lease,
        other => panic!("{other:?}"),
    }
}

async fn other_tenant(store: &Store) -> TenantId {
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    other
}

async fn a_repeated_idempotency_key_finds_the_first_run(bed: TestBed) {
    let store = bed.open().await;
    let ids: Vec<_> = (0..8).map(|_| Store::new_run_id().unwrap()).collect();
    let all = ids.iter().map(|id| {
        let store = &store;
        let tenant = &bed.tenant;
        async move {
            let new = NewJournalRun {
                idempotency_key: Some("k"),
                ..new_run(id)
            };
            store.begin_run(tenant, &new, "a", LEASE).await.unwrap()
        }
    });
    let started = futures_util::future::join_all(all).await;
    let first: Vec<_> = started
        .iter()
        .filter_map(|outcome| match outcome {
            BeginOutcome::Started(lease) => Some(lease.run.clone()),
            BeginOutcome::Existing { .. } => None,
        })
        .collect();
    assert_eq!(first.len(), 1, "{started:?}");
    for outcome in &started {
        if let BeginOutcome::Existing { run, same_request } = outcome {
            assert_eq!((run, *same_request), (&first[0], true));
        }
    }
    for (digest, dialect) in [("two", "responses"), ("one", "chat")] {
        let different = NewJournalRun {
            idempotency_key: Some("k"),
            request_digest: digest,
            dialect,
            ..new_run("run_x")
        };
        let outcome = store.begin_run(&bed.tenant, &different, "a", LEASE).await;
        let expected = BeginOutcome::Existing {
            run: first[0].clone(),
            same_request: false,
        };
        assert_eq!(outcome.unwrap(), expected);
        let found = store.find_started_run(&bed.tenant, "k", dialect, digest);
        assert_eq!(found.await.unwrap(), Some(expected));
    }
    let unknown = store.find_started_run(&bed.tenant, "l", "responses", "one");
    assert_eq!(unknown.await.unwrap(), None);
    for key in ["", &"k".repeat(256)] {
        let invalid = NewJournalRun {
            idempotency_key: Some(key),
            ..new_run("run_y")
        };
        let refused = store.enqueue_run(&bed.tenant, &invalid).await;
        assert!(refused.unwrap_err().to_string().contains("Idempotency-Key"));
    }
}

async fn an_idempotency_key_belongs_to_its_tenant(bed: TestBed) {
    let store = bed.open().await;
    let other = other_tenant(&store).await;
    for (tenant, id) in [(&bed.tenant, "run_1"), (&other, "run_2")] {
        let new = NewJournalRun {
            idempotency_key: Some("k"),
            ..new_run(id)
        };
        let started = store.enqueue_run(tenant, &new).await.unwrap();
        assert!(matches!(started, BeginOutcome::Started(_)), "{started:?}");
    }
}

async fn many_servers_claim_each_run_once(bed: TestBed) {
    let store = bed.open().await;
    for _ in 0..20 {
        let id = Store::new_run_id().unwrap();
        store.enqueue_run(&bed.tenant, &new_run(&id)).await.unwrap();
    }
    let servers: Vec<Store> = futures_util::future::join_all((0..4).map(|_| bed.open())).await;
    let claims = servers.iter().flat_map(|server| {
        (0..4).map(
            move |_| async move { server.claim_runs("s", LEASE, 1, 3, &[], &[]).await.unwrap() },
        )
    });
    let claimed = futures_util::future::join_all(claims).await;
    let mut runs: Vec<_> = claimed.into_iter().flatten().collect();
    assert!(runs.iter().all(|run| run.lease.epoch == 2));
    assert!(runs.iter().all(|run| run.request == b"\0request"));
    // Locked rows are skipped, so some may be left for the next round.
    runs.extend(
        store
            .claim_runs("s", LEASE, 1, 100, &[], &[])
            .await
            .unwrap(),
    );
    let mut ids: Vec<_> = runs.into_iter().map(|run| run.lease.run).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 20);
    assert_eq!(
        store
            .claim_runs("s", LEASE, 1, 100, &[], &[])
            .await
            .unwrap(),
        []
    );
    assert_eq!(store.count_open_runs(&bed.tenant).await.unwrap(), 20);
}

async fn a_run_of_a_newer_format_is_left_alone(bed: TestBed) {
    let store = bed.open().await;
    let new = NewJournalRun {
        format: 2,
        ..new_run("run_1")
    };
    store.enqueue_run(&bed.tenant, &new).await.unwrap();
    assert_eq!(
        store.claim_runs("s", LEASE, 1, 9, &[], &[]).await.unwrap(),
        []
    );
    assert_eq!(
        store
            .claim_runs("s", LEASE, 2, 9, &[], &[])
            .await
            .unwrap()
            .len(),
        1
    );
}

/// The server that has claimed it may have stored steps that an older one cannot read.
async fn a_run_that_a_newer_server_had_is_left_alone(bed: TestBed) {
    let store = bed.open().await;
    store
        .enqueue_run(&bed.tenant, &new_run("run_1"))
        .await
        .unwrap();
    let claimed = store
        .claim_runs("new", LEASE, 2, 9, &[], &[])
        .await
        .unwrap();
    assert!(store.release_lease(&claimed[0].lease).await.unwrap());
    assert_eq!(
        store
            .claim_runs("old", LEASE, 1, 9, &[], &[])
            .await
            .unwrap(),
        []
    );
    let again = store
        .claim_runs("new", LEASE, 2, 9, &[], &[])
        .await
        .unwrap();
    assert_eq!(again.len(), 1);
}

async fn a_postponed_run_waits_behind_the_others_and_can_be_cancelled(bed: TestBed) {
    let store = bed.open().await;
    for id in ["run_1", "run_2"] {
        store.enqueue_run(&bed.tenant, &new_run(id)).await.unwrap();
    }
    let claim = async || {
        let claimed = store.claim_runs("s", LEASE, 1, 1, &[], &[]).await.unwrap();
        claimed.into_iter().next().map(|run| run.lease).unwrap()
    };
    let first = claim().await;
    assert_eq!(first.run, "run_1");
    assert!(store.postpone_run(&first).await.unwrap());
    assert!(!store.postpone_run(&first).await.unwrap());
    let found = store.journal_run(&bed.tenant, "run_1").await.unwrap();
    assert_eq!(found.state, RunState::Queued);
    let second = claim().await;
    assert_eq!(second.run, "run_2");
    // Nobody has it, so nobody has to end it.
    let cancelled = store.cancel_run(&bed.tenant, "run_1", &[]).await.unwrap();
    assert_eq!(cancelled, CancelOutcome::Cancelled);
    let requested = store.cancel_run(&bed.tenant, "run_2", &[]).await.unwrap();
    assert_eq!(requested, CancelOutcome::Requested);
    assert!(!store.postpone_run(&second).await.unwrap());
}

async fn a_run_that_is_given_back_waits_before_the_others_and_can_be_cancelled(bed: TestBed) {
    let store = bed.open().await;
    for id in ["run_1", "run_2"] {
        store.enqueue_run(&bed.tenant, &new_run(id)).await.unwrap();
    }
    let claim = async || {
        let claimed = store.claim_runs("s", LEASE, 1, 1, &[], &[]).await.unwrap();
        claimed.into_iter().next().map(|run| run.lease).unwrap()
    };
    let first = claim().await;
    assert!(store.return_run(&first).await.unwrap());
    let found = store.journal_run(&bed.tenant, "run_1").await.unwrap();
    assert_eq!(found.state, RunState::Queued);
    let mut again = claim().await;
    assert_eq!(
        (again.run.as_str(), again.epoch),
        ("run_1", first.epoch + 1)
    );
    assert!(!store.return_run(&first).await.unwrap());
    // One with a finished step has begun, wherever it goes on.
    let changes = StepChanges::default();
    let stored = store.append_step(&mut again, &TURN, changes, LEASE).await;
    assert_eq!(stored.unwrap(), AppendOutcome::Committed);
    assert!(store.return_run(&again).await.unwrap());
    let found = store.journal_run(&bed.tenant, "run_1").await.unwrap();
    assert_eq!(found.state, RunState::Running);
    assert_eq!(claim().await.run, "run_1");
    let second = claim().await;
    assert!(store.return_run(&second).await.unwrap());
    let cancelled = store.cancel_run(&bed.tenant, "run_2", &[]).await.unwrap();
    assert_eq!(cancelled, CancelOutcome::Cancelled);
}

async fn a_run_that_is_to_be_cancelled_is_claimed_although_its_tenant_has_no_place(bed: TestBed) {
    let store = bed.open().await;
    let (first, second) = (
        begin(&store, &bed.tenant).await,
        begin(&store, &bed.tenant).await,
    );
    for lease in [&first, &second] {
        assert!(store.release_lease(lease).await.unwrap());
    }
    let requested = store.cancel_run(&bed.tenant, &second.run, &[]).await;
    assert_eq!(requested.unwrap(), CancelOutcome::Requested);
    let full = [bed.tenant.clone()];
    let claimed = store.claim_runs("s", LEASE, 1, 9, &full, &[]).await;
    let claimed = claimed.unwrap().into_iter().map(|run| run.lease.run);
    assert_eq!(claimed.collect::<Vec<_>>(), [second.run]);
}

async fn runs_of_some_keys_can_be_left_for_later_unless_they_have_steps(bed: TestBed) {
    let store = bed.open().await;
    let keys = [
        ("run_1", Some("key_1")),
        ("run_2", Some("key_2")),
        ("run_3", None),
    ];
    for (id, api_key) in keys {
        let new = NewJournalRun {
            api_key,
            ..new_run(id)
        };
        store.enqueue_run(&bed.tenant, &new).await.unwrap();
    }
    let mut resumed = begin(&store, &bed.tenant).await;
    let changes = StepChanges::default();
    let stored = store.append_step(&mut resumed, &TURN, changes, LEASE).await;
    assert_eq!(stored.unwrap(), AppendOutcome::Committed);
    assert!(store.release_lease(&resumed).await.unwrap());
    let claim = async |except: &[&str]| {
        let except: Vec<String> = except.iter().map(|key| (*key).to_owned()).collect();
        let claimed = store.claim_runs("s", LEASE, 1, 9, &[], &except).await;
        let claimed = claimed.unwrap().into_iter().map(|run| run.lease.run);
        claimed.collect::<Vec<_>>()
    };
    assert_eq!(claim(&["key_1", "key_2"]).await, [&resumed.run, "run_3"]);
    assert_eq!(claim(&["key_1"]).await, ["run_2"]);
    assert_eq!(claim(&[]).await, ["run_1"]);
}

async fn events_are_consecutive_and_read_from_any_number(bed: TestBed) {
    let store = bed.open().await;
    let lease = begin(&store, &bed.tenant).await;
    for (first_seq, last_seq) in [(0, 4), (5, 5), (6, 9)] {
        let body = format!("{first_seq}-{last_seq}");
        let chunk = NewEventChunk {
            first_seq,
            last_seq,
            body: &body,
        };
        let stored = store.append_events(&lease, &chunk).await.unwrap();
        assert_eq!(stored, AppendOutcome::Committed);
    }
    for (first_seq, last_seq) in [(9, 12), (11, 12), (10, 9)] {
        let chunk = NewEventChunk {
            first_seq,
            last_seq,
            body: "x",
        };
        let refused = store.append_events(&lease, &chunk).await.unwrap_err();
        assert!(refused.to_string().contains("do not follow 9"), "{refused}");
    }
    for (after, expected) in [
        (-1, vec!["0-4", "5-5", "6-9"]),
        (3, vec!["0-4", "5-5", "6-9"]),
        (4, vec!["5-5", "6-9"]),
        (9, vec![]),
    ] {
        let chunks = store.event_chunks(&bed.tenant, &lease.run, after).await;
        let bodies: Vec<_> = chunks
            .unwrap()
            .into_iter()
            .map(|chunk| chunk.body)
            .collect();
        assert_eq!(bodies, expected, "{after}");
    }
}

async fn a_server_without_its_lease_stores_no_events(bed: TestBed) {
    let store = bed.open().await;
    let lease = begin(&store, &bed.tenant).await;
    assert!(store.release_lease(&lease).await.unwrap());
    let claimed = store.claim_runs("b", LEASE, 1, 1, &[], &[]).await.unwrap();
    let chunk = NewEventChunk {
        first_seq: 0,
        last_seq: 0,
        body: "x",
    };
    let lost = store.append_events(&lease, &chunk).await.unwrap();
    assert_eq!(lost, AppendOutcome::Lost);
    assert_eq!(
        store.renew_lease(&lease, LEASE).await.unwrap(),
        LeaseStatus::Lost
    );
    let stored = store.append_events(&claimed[0].lease, &chunk).await;
    assert_eq!(stored.unwrap(), AppendOutcome::Committed);
}

async fn a_container_is_used_by_one_run_at_a_time(bed: TestBed) {
    let store = bed.open().await;
    let record = ContainerRecord {
        id: "container_1".to_owned(),
        upstream: None,
        skills: Value::Null,
    };
    store.save_container(&bed.tenant, &record).await.unwrap();
    let (one, two) = (
        begin(&store, &bed.tenant).await,
        begin(&store, &bed.tenant).await,
    );
    let held = HoldOutcome::Held { generation: 0 };
    let busy = HoldOutcome::Busy {
        run: one.run.clone(),
    };
    for (lease, expected) in [(&one, &held), (&one, &held), (&two, &busy)] {
        let outcome = store.hold_container(lease, "container_1").await.unwrap();
        assert_eq!(&outcome, expected);
    }
    // A kept run that lost its server will be resumed.
    store.release_lease(&one).await.unwrap();
    assert_eq!(
        store.hold_container(&two, "container_1").await.unwrap(),
        busy
    );
    let claimed = store.claim_runs("b", LEASE, 1, 9, &[], &[]).await.unwrap();
    let one = &claimed[0].lease;
    assert_eq!(
        store.hold_container(one, "container_1").await.unwrap(),
        held
    );
    let result = RunResult {
        state: RunState::Failed,
        body: "{}",
        events: None,
    };
    let ended = store.end_run(one, &result, &[]).await.unwrap();
    assert_eq!(ended, EndOutcome::Ended);
    assert_eq!(
        store.hold_container(&two, "container_1").await.unwrap(),
        held
    );
    let other = other_tenant(&store).await;
    let foreign = begin(&store, &other).await;
    let outcome = store.hold_container(&foreign, "container_1").await.unwrap();
    assert_eq!(outcome, HoldOutcome::NotFound);
}

async fn a_container_is_held_from_the_beginning_if_it_is_free(bed: TestBed) {
    let store = bed.open().await;
    let record = ContainerRecord {
        id: "container_1".to_owned(),
        upstream: None,
        skills: Value::Null,
    };
    store.save_container(&bed.tenant, &record).await.unwrap();
    let other = other_tenant(&store).await;
    let begin_in = async |tenant, id| {
        let new = new_run(id);
        let started = store.begin_run_in(tenant, &new, "a", LEASE, "container_1");
        match started.await {
            Ok(BeginOutcome::Started(lease)) => lease,
            other => panic!("{other:?}"),
        }
    };
    // Not by a run of another tenant, nor by one that begins later.
    begin_in(&other, "run_0").await;
    let one = begin_in(&bed.tenant, "run_1").await;
    let two = begin_in(&bed.tenant, "run_2").await;
    let busy = HoldOutcome::Busy {
        run: one.run.clone(),
    };
    for (lease, expected) in [(&two, busy), (&one, HoldOutcome::Held { generation: 0 })] {
        let outcome = store.hold_container(lease, "container_1").await.unwrap();
        assert_eq!(outcome, expected);
    }
}

async fn the_end_of_a_run_and_its_webhooks_are_one(bed: TestBed) {
    let store = bed.open().await;
    let mut lease = begin(&store, &bed.tenant).await;
    let stale = lease.clone();
    let appended = store.append_step(&mut lease, &TURN, StepChanges::default(), LEASE);
    assert_eq!(appended.await.unwrap(), AppendOutcome::Committed);
    let result = RunResult {
        state: RunState::Completed,
        body: r#"{"answer":1}"#,
        events: None,
    };
    let webhooks = [NewWebhook {
        url: "https://example.com/hook",
        body: "{}",
    }];
    // It does not know of the last step.
    let lost = store.end_run(&stale, &result, &webhooks).await.unwrap();
    assert_eq!(lost, EndOutcome::Lost);
    let ended = store.end_run(&lease, &result, &webhooks).await.unwrap();
    assert_eq!(ended, EndOutcome::Ended);
    let again = store.end_run(&lease, &result, &webhooks).await.unwrap();
    assert_eq!(again, EndOutcome::Lost);
    let run = store.journal_run(&bed.tenant, &lease.run).await.unwrap();
    assert_eq!(run.state, RunState::Completed);
    assert_eq!(run.result.as_deref(), Some(r#"{"answer":1}"#));
    assert!(run.ended_at.is_some());
    let due = store.take_due_webhooks(LEASE, 9, &[]).await.unwrap();
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].run, lease.run);
    let cancelled = store.cancel_run(&bed.tenant, &lease.run, &webhooks).await;
    assert_eq!(
        cancelled.unwrap(),
        CancelOutcome::AlreadyEnded(RunState::Completed)
    );
    let running = RunResult {
        state: RunState::Running,
        body: "{}",
        events: None,
    };
    assert!(store.end_run(&lease, &running, &[]).await.is_err());
}

async fn a_webhook_is_due_until_it_was_delivered(bed: TestBed) {
    let store = bed.open().await;
    let queued = Store::new_run_id().unwrap();
    store
        .enqueue_run(&bed.tenant, &new_run(&queued))
        .await
        .unwrap();
    let webhooks = [NewWebhook {
        url: "https://example.com/hook",
        body: "{}",
    }];
    let cancelled = store.cancel_run(&bed.tenant, &queued, &webhooks).await;
    assert_eq!(cancelled.unwrap(), CancelOutcome::Cancelled);
    let take = |retry| store.take_due_webhooks(retry, 9, &[]);
    let first = take(Duration::ZERO).await.unwrap();
    let second = take(LEASE).await.unwrap();
    assert_eq!((first[0].attempts, second[0].attempts), (1, 2));
    assert_eq!(first[0].id, second[0].id);
    assert_eq!(take(LEASE).await.unwrap(), []);
    store
        .postpone_webhook(&first[0].id, Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(take(LEASE).await.unwrap()[0].attempts, 3);
    // One that was not attempted does not count.
    let id = &first[0].id;
    store.return_webhook(id, LEASE).await.unwrap();
    assert_eq!(take(LEASE).await.unwrap(), []);
    store.postpone_webhook(id, Duration::ZERO).await.unwrap();
    assert_eq!(take(Duration::ZERO).await.unwrap()[0].attempts, 3);
    store.remove_webhook(&first[0].id).await.unwrap();
    assert_eq!(take(LEASE).await.unwrap(), []);
}

async fn webhooks_of_some_tenants_can_be_left_for_later(bed: TestBed) {
    let store = bed.open().await;
    let other = other_tenant(&store).await;
    for (tenant, run) in [
        (&bed.tenant, "run_1"),
        (&bed.tenant, "run_2"),
        (&other, "run_3"),
    ] {
        store.enqueue_run(tenant, &new_run(run)).await.unwrap();
        let webhook = NewWebhook {
            url: "https://example.com/hook",
            body: "{}",
        };
        store.cancel_run(tenant, run, &[webhook]).await.unwrap();
    }
    let take = async |except: &[TenantId]| {
        let due = store.take_due_webhooks(LEASE, 1, except).await.unwrap();
        due.into_iter()
            .map(|webhook| webhook.run)
            .collect::<Vec<_>>()
    };
    assert_eq!(take(std::slice::from_ref(&bed.tenant)).await, ["run_3"]);
    assert_eq!(take(&[bed.tenant.clone(), other.clone()]).await, [""; 0]);
    assert_eq!(take(&[other]).await, ["run_1"]);
    assert_eq!(take(&[]).await, ["run_2"]);
}

async fn another_tenant_finds_nothing(bed: TestBed) {
    let store = bed.open().await;
    let lease = begin(&store, &bed.tenant).await;
    let chunk = NewEventChunk {
        first_seq: 0,
        last_seq: 0,
        body: "secret",
    };
    let stored = store.append_events(&lease, &chunk).await.unwrap();
    assert_eq!(stored, AppendOutcome::Committed);
    let other = other_tenant(&store).await;
    let found = store.journal_run(&other, &lease.run).await;
    assert_eq!(found.unwrap_err().code(), "run-not-found");
    let cancelled = store.cancel_run(&other, &lease.run, &[]).await;
    assert_eq!(cancelled.unwrap_err().code(), "run-not-found");
    assert_eq!(
        store.event_chunks(&other, &lease.run, -1).await.unwrap(),
        []
    );
    assert_eq!(store.count_open_runs(&other).await.unwrap(), 0);
    assert_eq!(
        store.renew_lease(&lease, LEASE).await.unwrap(),
        LeaseStatus::Held
    );
}

async fn ended_runs_are_deleted_in_the_end(bed: TestBed) {
    let store = bed.open().await;
    let (ended, open) = (
        begin(&store, &bed.tenant).await,
        begin(&store, &bed.tenant).await,
    );
    let result = RunResult {
        state: RunState::Completed,
        body: "{}",
        events: None,
    };
    assert_eq!(
        store.end_run(&ended, &result, &[]).await.unwrap(),
        EndOutcome::Ended
    );
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert!(store.journal_run(&bed.tenant, &ended.run).await.is_ok());
    let long_ago = "UPDATE journal_runs SET ended_at = 1 WHERE ended_at IS NOT NULL";
    execute(&bed, long_ago).await;
    store.collect_garbage(Duration::ZERO).await.unwrap();
    let gone = store.journal_run(&bed.tenant, &ended.run).await;
    assert_eq!(gone.unwrap_err().code(), "run-not-found");
    assert!(store.journal_run(&bed.tenant, &open.run).await.is_ok());
}
