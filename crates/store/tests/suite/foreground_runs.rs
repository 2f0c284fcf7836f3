//! Foreground runs in progress, and lists of runs that have ended or not.

use std::time::Duration;

use prowess_store::{
    BeginOutcome, EndOutcome, EndedForegroundRun, ForegroundRun, NewJournalRun, NewRun,
    PagePosition, PageRequest, RunResult, RunState, SkillCost, SortOrder, Store, TenantId,
    Timestamp, UsageGrouping, UsageQuery, UsageRow, UsageSum,
};
use serde_json::json;

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    the_end_of_a_run_takes_the_place_of_its_row,
    runs_of_a_server_that_died_are_recorded_once,
    a_lease_covers_all_rows_of_its_server,
    a_server_that_comes_back_adds_only_what_was_not_counted,
    a_row_is_written_again_when_its_writing_seemed_to_fail,
    pages_have_every_run_once_while_runs_end,
    the_state_of_a_kept_run_is_that_of_its_journal,
    another_tenant_sees_no_run_in_progress,
    texts_of_clients_and_upstreams_do_not_keep_a_run_from_being_recorded,
}

const LEASE: Duration = Duration::from_secs(600);

fn usage(tenant: &TenantId, turns: u64) -> UsageRow {
    UsageRow {
        tenant: tenant.clone(),
        key: Some("key_1".to_owned()),
        model: "acme/m".to_owned(),
        provider: "acme".to_owned(),
        upstream_model: "m".to_owned(),
        dialect: "messages".to_owned(),
        status: 500,
        requests: 1,
        unpriced: 0,
        estimated: 0,
        input_tokens: 10 * turns,
        output_tokens: 5 * turns,
        cache_read_tokens: 2 * turns,
        cache_write_tokens: turns,
        cost_nanos: 100 * turns,
        millis: 7,
        sandbox_millis: 3 * turns,
        skills: vec![skill_cost(turns)],
    }
}

/// What a skill took of so many turns; it was used in the second.
fn skill_cost(turns: u64) -> SkillCost {
    let mut cost = SkillCost::new("forms", Some("skill_1"));
    cost.loaded.input_tokens = 4 * turns;
    cost.loaded.cost_nanos = 40 * turns;
    cost.used.output_tokens = turns;
    cost.sandbox_millis = 2 * turns;
    cost.runs.offered = 1;
    cost.runs.loaded = 1;
    cost.runs.used = u64::from(turns > 1);
    cost.runs.in_vain = i64::from(turns < 2);
    cost
}

fn in_progress(tenant: &TenantId, turns: u64) -> ForegroundRun {
    ForegroundRun {
        id: Store::new_run_id().unwrap(),
        turns: i64::try_from(turns).unwrap(),
        calls: 1,
        started_at: Timestamp::now(),
        container: Some("container_1".to_owned()),
        turn_usage: json!({"input_tokens": 10 * turns}),
        skills: json!([{"name": "forms"}]),
        files: json!([]),
        usage: usage(tenant, turns),
    }
}

fn record(id: &str) -> NewRun {
    let now = Timestamp::now();
    NewRun {
        id: id.to_owned(),
        model: "acme/m".to_owned(),
        provider: Some("acme".to_owned()),
        dialect: "messages",
        status: "completed",
        turns: 2,
        calls: 1,
        input_tokens: 26,
        output_tokens: 10,
        started_at: now,
        ended_at: now,
        container: None,
        error: None,
        usage: json!({"input_tokens": 20}),
        skills: json!([]),
        files: json!([]),
        events: json!([]),
    }
}

fn ended(run: &ForegroundRun, stored_turns: Option<u64>) -> EndedForegroundRun {
    let tenant = run.usage.tenant.clone();
    let used = UsageRow {
        status: 200,
        ..usage(&tenant, 2)
    };
    EndedForegroundRun {
        record: record(&run.id),
        usage: Some(used),
        stored_usage: stored_turns.map(|turns| usage(&tenant, turns)),
        tenant,
    }
}

async fn write(store: &Store, owner: &str, lease: Duration, runs: &[ForegroundRun]) {
    let gone = store.write_foreground_runs(owner, lease, runs, &[]).await;
    assert_eq!(gone.unwrap(), [""; 0]);
}

async fn sums(store: &Store) -> UsageSum {
    let query = UsageQuery {
        tenant: None,
        since: Timestamp::EPOCH,
        by: UsageGrouping::Key,
    };
    let mut sums = store.usage(&query).await.unwrap();
    assert!(sums.len() <= 1, "{sums:?}");
    sums.pop().unwrap_or_default()
}

/// Requests, errors, input tokens, cost.
async fn counted(store: &Store) -> (u64, u64, u64, u64) {
    let sum = sums(store).await;
    (sum.requests, sum.errors, sum.input_tokens, sum.cost_nanos)
}

async fn status(store: &Store, tenant: &TenantId, id: &str) -> String {
    store.run(tenant, id).await.unwrap().run.status
}

async fn the_end_of_a_run_takes_the_place_of_its_row(bed: TestBed) {
    let (store, tenant) = (bed.open().await, &bed.tenant);
    let mut runs = [in_progress(tenant, 0), in_progress(tenant, 0)];
    write(&store, "a", LEASE, &runs).await;
    runs[0] = ForegroundRun {
        id: runs[0].id.clone(),
        ..in_progress(tenant, 1)
    };
    let changed = &runs[..1];
    let gone = store.write_foreground_runs("a", LEASE, &[], changed).await;
    assert_eq!(gone.unwrap(), [""; 0]);
    let shown = store.run(tenant, &runs[0].id).await.unwrap();
    assert_eq!((shown.run.status.as_str(), shown.run.turns), ("running", 1));
    assert_eq!((shown.run.input_tokens, shown.run.ended_at), (13, None));
    assert_eq!(shown.skills, json!([{"name": "forms"}]));
    assert_eq!(counted(&store).await, (0, 0, 0, 0));

    let both = [ended(&runs[0], Some(1)), ended(&runs[1], Some(0))];
    store.end_foreground_runs(&both).await.unwrap();
    for run in &runs {
        assert_eq!(status(&store, tenant, &run.id).await, "completed");
    }
    assert_eq!(counted(&store).await, (2, 0, 40, 400));
    let page = store.list_runs(tenant, &PageRequest::default()).await;
    assert_eq!(page.unwrap().items.len(), 2, "no row is left");
    assert_eq!(store.record_interrupted_runs("b").await.unwrap(), 0);
}

async fn runs_of_a_server_that_died_are_recorded_once(bed: TestBed) {
    let (store, tenant) = (bed.open().await, &bed.tenant);
    // More than are recorded in one transaction.
    let lost: Vec<_> = (0..130).map(|_| in_progress(tenant, 2)).collect();
    write(&store, "dead", Duration::ZERO, &lost).await;
    let unstarted = ForegroundRun {
        usage: UsageRow {
            provider: String::new(),
            unpriced: 1,
            ..usage(tenant, 0)
        },
        ..in_progress(tenant, 0)
    };
    write(
        &store,
        "dead",
        Duration::ZERO,
        std::slice::from_ref(&unstarted),
    )
    .await;
    let alive = [in_progress(tenant, 2), in_progress(tenant, 2)];
    write(&store, "alive", LEASE, &alive[..1]).await;
    write(&store, "late", Duration::ZERO, &alive[1..]).await;

    let servers = [bed.open().await, bed.open().await, bed.open().await];
    let finds = servers
        .iter()
        .map(|server| server.record_interrupted_runs("late"));
    let found = futures_util::future::join_all(finds).await;
    let found: u64 = found.into_iter().map(Result::unwrap).sum();
    assert_eq!(found, 131);
    assert_eq!(store.record_interrupted_runs("late").await.unwrap(), 0);

    assert_eq!(counted(&store).await, (131, 131, 130 * 20, 130 * 200));
    assert_eq!(sums(&store).await.unpriced, 1);
    assert_eq!(sums(&store).await.cache_write_tokens, 130 * 2);
    let spent = store.spent_nanos("key_1", Timestamp::EPOCH).await;
    assert_eq!(spent.unwrap(), 130 * 200, "budgets know of it");
    let shown = store.run(tenant, &lost[7].id).await.unwrap();
    assert_eq!(shown.run.status, "interrupted");
    let error = shown.run.error.as_deref();
    assert_eq!(error, Some("the server stopped before the run ended"));
    assert_eq!((shown.run.turns, shown.run.calls), (2, 1));
    assert_eq!((shown.run.input_tokens, shown.run.output_tokens), (26, 10));
    assert!(shown.run.ended_at.unwrap() >= shown.run.started_at);
    assert_eq!(shown.run.container.as_deref(), Some("container_1"));
    assert_eq!(shown.usage, json!({"input_tokens": 20}));
    let shown = store.run(tenant, &unstarted.id).await.unwrap();
    assert_eq!((shown.run.provider, shown.run.turns), (None, 0));
    for run in &alive {
        assert_eq!(status(&store, tenant, &run.id).await, "running");
    }
}

async fn a_lease_covers_all_rows_of_its_server(bed: TestBed) {
    let (store, tenant) = (bed.open().await, &bed.tenant);
    let runs = [in_progress(tenant, 0), in_progress(tenant, 0)];
    write(&store, "a", Duration::ZERO, &runs).await;
    write(&store, "b", Duration::ZERO, &[in_progress(tenant, 0)]).await;
    assert_eq!(store.renew_foreground_runs("a", LEASE).await.unwrap(), 2);
    assert_eq!(store.record_interrupted_runs("c").await.unwrap(), 1);
    for run in &runs {
        assert_eq!(status(&store, tenant, &run.id).await, "running");
    }
}

async fn a_server_that_comes_back_adds_only_what_was_not_counted(bed: TestBed) {
    let (store, tenant) = (bed.open().await, &bed.tenant);
    let run = in_progress(tenant, 1);
    write(&store, "a", Duration::ZERO, std::slice::from_ref(&run)).await;
    assert_eq!(store.record_interrupted_runs("b").await.unwrap(), 1);
    assert_eq!(counted(&store).await, (1, 1, 10, 100));

    let changed = [ForegroundRun {
        id: run.id.clone(),
        ..in_progress(tenant, 2)
    }];
    let gone = store.write_foreground_runs("a", LEASE, &[], &changed).await;
    assert_eq!(gone.unwrap(), [run.id.as_str()]);
    let end = ended(&run, Some(1));
    store.end_foreground_runs(&[end]).await.unwrap();
    assert_eq!(status(&store, tenant, &run.id).await, "completed");
    assert_eq!(counted(&store).await, (1, 1, 20, 200));
    let costs = store.skill_costs(Some(tenant), Timestamp::EPOCH, 100).await;
    let costs = costs.unwrap();
    assert_eq!(costs.skills, [skill_cost(2)]);
    assert_eq!(costs.total_sandbox_millis, 6);
    assert_eq!(costs.no_skill_sandbox_millis, 2);
    assert_eq!(costs.no_skill.input_tokens, 12);
    assert_eq!(costs.no_skill.cost_nanos, 120);
}

async fn a_row_is_written_again_when_its_writing_seemed_to_fail(bed: TestBed) {
    let (store, tenant) = (bed.open().await, &bed.tenant);
    let run = in_progress(tenant, 0);
    write(&store, "a", LEASE, std::slice::from_ref(&run)).await;
    let later = ForegroundRun {
        id: run.id.clone(),
        ..in_progress(tenant, 2)
    };
    write(&store, "a", LEASE, &[later]).await;
    assert_eq!(store.run(tenant, &run.id).await.unwrap().run.turns, 2);
    store
        .end_foreground_runs(&[ended(&run, None)])
        .await
        .unwrap();
    assert_eq!(counted(&store).await, (1, 0, 20, 200));
}

async fn enqueue(store: &Store, tenant: &TenantId) -> String {
    let id = Store::new_run_id().unwrap();
    let new = NewJournalRun {
        id: &id,
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
    id
}

/// Claims the only run that waits, and ends it.
async fn end_kept(store: &Store, state: RunState) {
    let mut claimed = store.claim_runs("s", LEASE, 1, 9, &[], &[]).await.unwrap();
    assert_eq!(claimed.len(), 1);
    let result = RunResult {
        state,
        body: "{}",
        events: None,
    };
    let lease = claimed.remove(0).lease;
    let outcome = store.end_run(&lease, &result, &[]).await.unwrap();
    assert_eq!(outcome, EndOutcome::Ended);
}

async fn pages_have_every_run_once_while_runs_end(bed: TestBed) {
    let (store, tenant) = (bed.open().await, &bed.tenant);
    let (mut ids, mut foreground) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let id = Store::new_run_id().unwrap();
        store.record_run(tenant, &record(&id)).await.unwrap();
        ids.push(id);
        let run = in_progress(tenant, 1);
        write(&store, "a", LEASE, std::slice::from_ref(&run)).await;
        ids.push(run.id.clone());
        foreground.push(run);
        ids.push(enqueue(&store, tenant).await);
    }
    for order in [SortOrder::Descending, SortOrder::Ascending] {
        let mut expected = ids.clone();
        if order == SortOrder::Descending {
            expected.reverse();
        }
        let mut page = PageRequest {
            limit: 2,
            order,
            from: PagePosition::Start,
        };
        let mut seen = Vec::new();
        loop {
            let found = store.list_runs(tenant, &page).await.unwrap();
            seen.extend(found.items.iter().map(|run| run.id.clone()));
            // One that was listed before, or will be.
            if let Some(run) = foreground.pop() {
                let end = ended(&run, Some(1));
                store.end_foreground_runs(&[end]).await.unwrap();
            }
            match found.next {
                Some(next) => page.from = PagePosition::After(next),
                None => break,
            }
        }
        assert_eq!(seen, expected, "{order:?}");
    }
    let page = PageRequest {
        limit: 3,
        from: PagePosition::Offset(4),
        ..PageRequest::default()
    };
    let found = store.list_runs(tenant, &page).await.unwrap();
    let found: Vec<_> = found.items.iter().map(|run| run.id.as_str()).collect();
    let mut newest = ids.iter().rev().skip(4).map(String::as_str);
    assert_eq!(
        found,
        [newest.next(), newest.next(), newest.next()].map(Option::unwrap)
    );
}

async fn the_state_of_a_kept_run_is_that_of_its_journal(bed: TestBed) {
    let (store, tenant) = (bed.open().await, &bed.tenant);
    let listed = async || {
        let page = store.list_runs(tenant, &PageRequest::default()).await;
        let mut items = page.unwrap().items;
        assert_eq!(items.len(), 1, "{items:?}");
        items.remove(0)
    };
    let id = enqueue(&store, tenant).await;
    let run = listed().await;
    assert_eq!(
        (run.id.as_str(), run.status.as_str()),
        (id.as_str(), "queued")
    );
    assert_eq!(run.kept.map(|kept| kept.steps), Some(0));
    // The record is written just before the run ends in the journal.
    store.record_run(tenant, &record(&id)).await.unwrap();
    assert_eq!(
        (listed().await.status.as_str(), listed().await.ended_at),
        ("queued", None)
    );
    assert_eq!(
        store.run(tenant, &id).await.unwrap_err().code(),
        "run-not-found"
    );
    end_kept(&store, RunState::Incomplete).await;
    let run = listed().await;
    assert_eq!(
        (run.status.as_str(), run.turns, run.kept),
        ("incomplete", 2, None)
    );
    assert!(run.ended_at.is_some());
    assert_eq!(status(&store, tenant, &id).await, "incomplete");
}

async fn another_tenant_sees_no_run_in_progress(bed: TestBed) {
    let (store, tenant) = (bed.open().await, &bed.tenant);
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "other").await.unwrap();
    let run = in_progress(tenant, 1);
    write(&store, "a", LEASE, std::slice::from_ref(&run)).await;
    let kept = enqueue(&store, tenant).await;
    let page = store.list_runs(&other, &PageRequest::default()).await;
    assert_eq!(page.unwrap().items, []);
    for id in [&run.id, &kept] {
        let missing = store.run(&other, id).await.unwrap_err();
        assert_eq!(missing.code(), "run-not-found");
    }
    let page = store.list_runs(tenant, &PageRequest::default()).await;
    assert_eq!(page.unwrap().items.len(), 2);
}

async fn texts_of_clients_and_upstreams_do_not_keep_a_run_from_being_recorded(bed: TestBed) {
    let store = bed.open().await;
    let mut run = in_progress(&bed.tenant, 1);
    run.usage.model = "acme/m\0".to_owned();
    write(&store, "a", LEASE, std::slice::from_ref(&run)).await;
    let mut ended = ended(&run, Some(1));
    ended.record.model = "acme/m\0".to_owned();
    ended.record.provider = Some("ac\0me".to_owned());
    ended.record.status = "failed";
    ended.record.error = Some("\0bad gateway\0".to_owned());
    store.end_foreground_runs(&[ended]).await.unwrap();
    let record = store.run(&bed.tenant, &run.id).await.unwrap().run;
    assert_eq!((&*record.model, &*record.status), ("acme/m", "failed"));
    assert_eq!(record.provider.as_deref(), Some("acme"));
    assert_eq!(record.error.as_deref(), Some("bad gateway"));
    assert_eq!(counted(&store).await, (1, 0, 20, 200));
}
