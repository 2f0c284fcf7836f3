//! The limits of a run count what servers before have used.

use serde_json::json;

use crate::durable::bed::{Bed, SHORT_LEASE};
use crate::durable::events::assert_dense;
use crate::durable::model::prompts;
use crate::durable::poll::wait_for;
use crate::durable::request::KeptDialect;
use crate::on_both_databases;

const HOUR_MS: u64 = 3_600_000;

/// A server is killed after the first command; when another one has the run, it has been going
/// on for longer than it may.
async fn resumed_too_late(database: Option<String>) {
    let variables = [SHORT_LEASE, ("PROWESS_FAIL_POINT", "results-stored:1")];
    let mut bed = Bed::start(database, &variables).await;
    let request = bed.kept_request(KeptDialect::Responses, prompts::WRITE);
    Bed::send_in_background(request);
    bed.wait_for_death().await;
    bed.execute("UPDATE journal_steps SET created_at = created_at - 3600000000 WHERE seq = 0")
        .await;
    bed.restart(&[]);
    let run = bed.ended_run().await;
    assert_eq!(run.state, "incomplete", "{run:?}");
    // The finished steps are read all the same, and the second command is not run.
    assert_eq!(bed.model.calls(prompts::WRITE), 2);
    let events = bed.events(&run.id).await;
    assert_dense(&events, 0);
    assert_eq!(events.last().unwrap().data["type"], "response.incomplete");
    let results = bed.model.results();
    assert_eq!(results.len(), 1, "{results:?}");
    // The record begins with the run, not with the server that ended it.
    let duration = wait_for("the record of the run", async || {
        let shown = Bed::json(bed.get(&format!("/v1/runs/{}", run.id))).await;
        let is_record = shown["skills"].is_array();
        is_record.then(|| shown["duration_ms"].as_u64().unwrap())
    })
    .await;
    assert!(
        (HOUR_MS..HOUR_MS + 600_000).contains(&duration),
        "{duration}"
    );
}

#[test]
fn the_time_of_a_run_is_counted_from_its_start_on_another_server_too() {
    on_both_databases(resumed_too_late);
}

/// The first three turns cost 1, 2 and 3.
const PRICED: &str =
    "[[models]]\nname = 'priced'\nprovider = 'ant'\ninput_price = 100000\noutput_price = 0\n";

/// A server is killed after the second turn of a run that costs 6 of a budget of 8: the turns
/// that another server only reads again are not paid twice.
async fn resumed_on_a_budget(database: Option<String>) {
    let variables = [SHORT_LEASE, ("PROWESS_FAIL_POINT", "results-stored:2")];
    let mut bed = Bed::start_with(database, &variables, PRICED).await;
    let budget = json!({"amount": 8, "period": "month"});
    let (_, key) = bed
        .create_key(json!({"name": "ci", "budget": budget}))
        .await;
    let mut body = KeptDialect::Polled.body(prompts::WRITE, &bed.skill);
    body["model"] = "priced".into();
    let request = bed.post_as(&key, "/v1/responses").body(body.to_string());
    Bed::send_in_background(request);
    bed.wait_for_death().await;
    bed.restart(&[]);
    let run = bed.ended_run().await;
    assert_eq!(run.state, "completed", "{run:?}");
    assert_eq!(bed.usage().await[0]["cost"], 6.0);
    // A moment later its server has counted it.
    wait_for("the run is counted", async || {
        let metrics = Bed::text(bed.get("/metrics")).await;
        let ended = r#"prowess_runs_total{outcome="completed"} 1"#;
        metrics.contains(ended).then_some(())
    })
    .await;
    let next = json!({
        "model": "priced", "max_tokens": 9,
        "messages": [{"role": "user", "content": "hello"}],
    });
    let next = bed.post_as(&key, "/v1/messages").body(next.to_string());
    Bed::text(next.header("anthropic-version", "2023-06-01")).await;
}

#[test]
fn turns_that_are_read_again_are_not_paid_twice() {
    on_both_databases(resumed_on_a_budget);
}
