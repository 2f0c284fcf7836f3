//! Which foreground runs get a row, and how their ends are written.

use serde_json::json;

use prowess_store::Timestamp;

use super::*;
use crate::record::tracked_run::WRITE_DELAY;

fn row(id: &str, tenant: &str) -> ForegroundRun {
    ForegroundRun {
        id: id.to_owned(),
        turns: 0,
        calls: 0,
        started_at: Timestamp::EPOCH,
        container: None,
        turn_usage: json!({}),
        skills: json!([]),
        files: json!([]),
        usage: usage(tenant, 0),
    }
}

fn usage(tenant: &str, tokens: u64) -> UsageRow {
    UsageRow {
        tenant: TenantId::new(tenant).unwrap(),
        key: None,
        model: "m".to_owned(),
        provider: String::new(),
        upstream_model: String::new(),
        dialect: "chat".to_owned(),
        status: 500,
        requests: 1,
        unpriced: 0,
        estimated: 0,
        input_tokens: tokens,
        output_tokens: 0,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        cost_nanos: 0,
        millis: 0,
        sandbox_millis: 0,
        skills: Vec::new(),
    }
}

fn record(id: &str) -> NewRun {
    NewRun {
        id: id.to_owned(),
        model: "m".to_owned(),
        provider: None,
        dialect: "chat",
        status: "completed",
        turns: 1,
        calls: 0,
        input_tokens: 0,
        output_tokens: 0,
        started_at: Timestamp::EPOCH,
        ended_at: Timestamp::EPOCH,
        container: None,
        error: None,
        usage: json!({}),
        skills: json!([]),
        files: json!([]),
        events: json!([{"kind": "turn"}]),
    }
}

fn tracker() -> ForegroundRuns {
    ForegroundRuns::new("server_1".into())
}

/// Makes a run as old as those that get a row.
fn age(runs: &ForegroundRuns, id: &str) {
    let mut state = runs.state();
    let tracked = state.runs.get_mut(id).unwrap();
    tracked.began = tracked.began.checked_sub(WRITE_DELAY).unwrap();
}

/// Begins a run and writes its row.
fn begin_stored(runs: &ForegroundRuns, id: &str) {
    assert!(runs.begin(row(id, "t")));
    age(runs, id);
    let due = runs.take_due();
    assert_eq!(due.new.len(), 1);
    runs.mark_written(due.new, &[]);
}

#[test]
fn a_run_that_is_over_before_its_row_is_written_has_none() {
    for usage_first in [false, true] {
        let runs = tracker();
        assert!(runs.begin(row("run_1", "t")));
        if usage_first {
            assert!(runs.set_usage("run_1", Some(usage("t", 1))).is_some());
            assert!(runs.end(record("run_1")).is_some());
        } else {
            assert!(runs.end(record("run_1")).is_some());
            assert!(runs.set_usage("run_1", Some(usage("t", 1))).is_some());
        }
        assert!(runs.take_due().is_empty());
        assert!(runs.state().runs.is_empty());
        assert!(runs.state().by_tenant.is_empty());
    }
}

#[test]
fn a_row_is_ended_with_its_record_and_usage_together() {
    let runs = tracker();
    begin_stored(&runs, "run_1");
    assert!(runs.take_due().is_empty(), "nothing has changed");
    let mut turn = row("run_1", "t");
    turn.usage.input_tokens = 7;
    runs.update(turn);
    let due = runs.take_due();
    assert_eq!((due.new.len(), due.changed.len()), (0, 1));
    runs.mark_written(due.changed, &[]);
    assert!(runs.end(record("run_1")).is_none());
    assert!(runs.take_due().is_empty(), "its usage is not known yet");
    assert!(runs.set_usage("run_1", Some(usage("t", 9))).is_none());
    let due = runs.take_due();
    assert_eq!(due.ended.len(), 1);
    let end = due.ended.first().unwrap();
    assert_eq!(end.usage, Some(usage("t", 9)));
    assert_eq!(end.stored_usage, Some(usage("t", 7)));
    // The store fails once.
    runs.put_back(due.ended);
    let due = runs.take_due();
    runs.mark_ended(&due.ended);
    assert!(runs.take_due().is_empty());
    assert!(!runs.has_rows());
}

#[test]
fn a_run_that_another_server_recorded_remembers_what_was_counted() {
    let runs = tracker();
    begin_stored(&runs, "run_1");
    let mut turn = row("run_1", "t");
    turn.usage.input_tokens = 7;
    runs.update(turn);
    let due = runs.take_due();
    runs.mark_written(due.changed, &["run_1".to_owned()]);
    assert!(!runs.has_rows(), "no lease is renewed");
    runs.update(row("run_1", "t"));
    assert!(runs.take_due().is_empty(), "no row is written again");
    assert!(runs.end(record("run_1")).is_none());
    assert!(runs.set_usage("run_1", Some(usage("t", 9))).is_none());
    let due = runs.take_due();
    let end = due.ended.first().unwrap();
    assert_eq!(end.stored_usage, Some(usage("t", 0)));
}

#[test]
fn a_run_that_cannot_be_written_does_not_hold_up_others() {
    let runs = tracker();
    for id in ["run_1", "run_2"] {
        assert!(runs.begin(row(id, "t")));
        age(&runs, id);
    }
    for _ in 0..3 {
        let due = runs.take_due();
        assert_eq!(due.new.len(), 2);
        runs.mark_unwritten(&due.new, true);
    }
    // From here on each is written alone, and a new one before them.
    assert!(runs.begin(row("run_3", "t")));
    age(&runs, "run_3");
    let due = runs.take_due();
    assert_eq!(due.new.first().unwrap().id, "run_3");
    runs.mark_written(due.new, &[]);
    for _ in 0..2 {
        let due = runs.take_due();
        assert_eq!(due.new.len(), 1);
        runs.mark_written(due.new, &[]);
    }
    assert!(runs.take_due().is_empty());
}

#[test]
fn a_tenant_with_many_runs_leaves_rows_for_others() {
    let runs = tracker();
    for number in 0..MAX_TENANT_RUNS + 3 {
        let has_row = runs.begin(row(&format!("run_{number}"), "loud"));
        assert_eq!(has_row, number < MAX_TENANT_RUNS);
    }
    assert_eq!(runs.dropped(), 3);
    assert!(runs.begin(row("run_quiet", "quiet")));
}

#[test]
fn a_run_whose_usage_nobody_counts_is_ended_without_it() {
    let runs = tracker();
    begin_stored(&runs, "run_1");
    assert!(runs.end(record("run_1")).is_none());
    assert!(runs.set_usage("run_1", None).is_none());
    let due = runs.take_due();
    assert_eq!(due.ended.first().unwrap().usage, None);
}
