//! Runs whose servers die: how often that happened since a step was finished, and who has them.

use std::time::Duration;

use prowess_store::{
    AppendOutcome, BeginOutcome, ClaimedRun, NewJournalRun, NewStep, RunLease, StepChanges,
    StepKind, Store,
};

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    losses_of_a_run_that_is_given_back_are_kept_and_no_other_is_added,
    servers_that_die_are_counted_until_a_step_is_finished,
    runs_that_were_lost_often_are_resumed_one_at_a_time,
}

const LEASE: Duration = Duration::from_secs(600);
/// The lease of a server that dies at once.
const DIES: Duration = Duration::ZERO;

async fn begin(store: &Store, bed: &TestBed, id: &str) {
    let new = NewJournalRun {
        id,
        api_key: None,
        dialect: "responses",
        model: "m",
        kept: true,
        format: 1,
        idempotency_key: None,
        request_digest: "one",
        request: b"request",
    };
    let started = store.begin_run(&bed.tenant, &new, "server_0", DIES).await;
    assert!(
        matches!(started, Ok(BeginOutcome::Started(_))),
        "{started:?}"
    );
}

async fn claim(store: &Store, owner: &str, lease: Duration) -> Vec<ClaimedRun> {
    let claimed = store.claim_runs(owner, lease, 1, 9, &[], &[]).await;
    claimed.unwrap()
}

async fn claim_one(store: &Store, owner: &str) -> ClaimedRun {
    let mut claimed = claim(store, owner, DIES).await;
    assert_eq!(claimed.len(), 1, "{claimed:?}");
    claimed.remove(0)
}

async fn finish_step(store: &Store, lease: &mut RunLease, time: Duration) {
    let step = NewStep {
        kind: StepKind::Turn,
        call: None,
        body: "{}",
    };
    let changes = StepChanges::default();
    let stored = store.append_step(lease, &step, changes, time).await;
    assert_eq!(stored.unwrap(), AppendOutcome::Committed);
}

async fn servers_that_die_are_counted_until_a_step_is_finished(bed: TestBed) {
    let store = bed.open().await;
    begin(&store, &bed, "run_1").await;
    let mut last = None;
    for number in 1..=12 {
        let claimed = claim_one(&store, &format!("server_{number}")).await;
        assert_eq!(claimed.losses, number);
        last = Some(claimed.lease);
    }
    finish_step(&store, &mut last.unwrap(), DIES).await;
    assert_eq!(claim_one(&store, "server_13").await.losses, 1);
    let second = claim_one(&store, "server_14").await;
    assert_eq!(second.losses, 2);
    // It is alive, and has not renewed its lease in time.
    let again = claim_one(&store, "server_14").await;
    assert_eq!(again.losses, 2);
    assert!(store.release_lease(&again.lease).await.unwrap());
    let released = claim_one(&store, "server_15").await;
    assert_eq!(released.losses, 0);
    assert!(!store.give_up_run(&again.lease).await.unwrap());
    assert!(store.give_up_run(&released.lease).await.unwrap());
    assert_eq!(claim_one(&store, "server_16").await.losses, 0);
}

/// Otherwise a run would be resumed for ever whose servers die of it, and that has to wait for its
/// key's limits, or for a place, in between.
async fn losses_of_a_run_that_is_given_back_are_kept_and_no_other_is_added(bed: TestBed) {
    let store = bed.open().await;
    begin(&store, &bed, "run_1").await;
    for number in 1..=3 {
        let claimed = claim_one(&store, &format!("server_{number}")).await;
        assert_eq!(claimed.losses, number);
    }
    // The third one has died. Those that follow have not.
    let given_up = claim_one(&store, "server_4").await;
    assert_eq!(given_up.losses, 4);
    for _ in 0..2 {
        assert!(store.give_up_run(&given_up.lease).await.unwrap());
    }
    let returned = claim_one(&store, "server_5").await;
    assert_eq!(returned.losses, 4);
    assert!(store.return_run(&returned.lease).await.unwrap());
    let postponed = claim_one(&store, "server_6").await;
    assert_eq!(postponed.losses, 4);
    assert!(store.postpone_run(&postponed.lease).await.unwrap());
    let claimed = claim(&store, "server_7", LEASE).await;
    assert_eq!(claimed[0].losses, 4);
    // It is still one of those of which a server has one at a time.
    begin(&store, &bed, "run_2").await;
    for owner in ["server_8", "server_9"] {
        assert_eq!(claim_one(&store, owner).await.lease.run, "run_2");
    }
    assert_eq!(claim(&store, "server_7", LEASE).await, []);
}

async fn runs_that_were_lost_often_are_resumed_one_at_a_time(bed: TestBed) {
    let store = bed.open().await;
    for id in ["run_1", "run_2", "run_3"] {
        begin(&store, &bed, id).await;
    }
    for owner in ["server_1", "server_2"] {
        assert_eq!(claim(&store, owner, DIES).await.len(), 3);
    }
    begin(&store, &bed, "run_4").await;
    let mut runs: Vec<String> = Vec::new();
    let mut third = claim(&store, "server_3", LEASE).await;
    assert_eq!(third.len(), 2, "{third:?}");
    runs.extend(third.iter().map(|run| run.lease.run.clone()));
    assert!(runs.contains(&"run_4".to_owned()), "{runs:?}");
    assert_eq!(claim(&store, "server_3", LEASE).await, []);
    // Another server may have another of these runs at the same time.
    let fourth = claim(&store, "server_4", LEASE).await;
    assert_eq!(fourth.len(), 1, "{fourth:?}");
    runs.push(fourth[0].lease.run.clone());
    // It is not what the servers died of.
    let suspect = third.iter_mut().find(|run| run.lease.run != "run_4");
    let suspect = suspect.unwrap();
    assert_eq!(suspect.losses, 3);
    finish_step(&store, &mut suspect.lease, LEASE).await;
    let last = claim(&store, "server_3", LEASE).await;
    assert_eq!(last.len(), 1, "{last:?}");
    runs.push(last[0].lease.run.clone());
    runs.sort();
    assert_eq!(runs, ["run_1", "run_2", "run_3", "run_4"]);
}
