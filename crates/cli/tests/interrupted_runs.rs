//! Runs that are not kept, under the real server, which is killed: they are recorded as
//! interrupted, and the turns that had finished are counted, once.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[allow(
    dead_code,
    clippy::allow_attributes,
    reason = "another test binary uses the rest of this module"
)]
mod durable;
mod server;

use std::collections::BTreeMap;

use durable::bed::{Bed, SHORT_LEASE};
use durable::model::prompts;
use durable::poll::wait_for;
use durable::request::KeptDialect;
use prowess_testkit::postgres::TestPostgres;
use reqwest::StatusCode;
use serde_json::{Value, json};

const DIALECTS: [KeptDialect; 3] = [
    KeptDialect::Messages,
    KeptDialect::Chat,
    KeptDialect::Responses,
];

/// A model whose million tokens cost two in, and four out.
const PRICED_MODEL: &str = "[[models]]\nname = \"priced\"\nprovider = \"ant\"\n\
    model = \"m\"\ninput_price = 2.0\noutput_price = 4.0\n";

/// The request for a run that ends when its client leaves.
fn request(bed: &Bed, dialect: KeptDialect, prompt: &str, stream: bool) -> reqwest::RequestBuilder {
    let mut body = dialect.body(prompt, &bed.skill);
    let fields = body.as_object_mut().unwrap();
    fields.remove("background");
    fields.insert("stream".to_owned(), stream.into());
    fields.insert("model".to_owned(), "priced".into());
    let request = bed.post(dialect.path()).body(body.to_string());
    request.header("anthropic-version", "2023-06-01")
}

/// A command that runs for so long, with a number by which it differs from others.
fn linger(seconds: &str) -> String {
    format!("{} {seconds}", prompts::LINGER)
}

/// How many runs the server lists in each state, with so many turns each.
async fn states(bed: &Bed) -> BTreeMap<(String, u64), usize> {
    let list = Bed::json(bed.get("/v1/runs?limit=100")).await;
    let mut states = BTreeMap::new();
    for run in list["data"].as_array().unwrap() {
        let status = run["status"].as_str().unwrap().to_owned();
        let turns = run["turns"].as_u64().unwrap();
        *states.entry((status, turns)).or_default() += 1;
    }
    states
}

async fn wait_for_states(bed: &Bed, expected: &[(&str, u64, usize)]) {
    let expected = expected.iter();
    let expected: BTreeMap<_, _> = expected
        .map(|(status, turns, runs)| (((*status).to_owned(), *turns), *runs))
        .collect();
    wait_for(&format!("the runs are {expected:?}"), async || {
        (states(bed).await == expected).then_some(())
    })
    .await;
}

/// Waits until so many requests are counted, and returns what they used.
async fn usage(bed: &Bed, requests: u64) -> Value {
    wait_for(&format!("{requests} requests are counted"), async || {
        let usage = bed.usage().await;
        let counted = usage[0]["requests"].as_u64().unwrap_or_default();
        (counted >= requests).then_some(usage)
    })
    .await
}

/// Stops the test unless exactly this was counted.
fn assert_usage(usage: &Value, requests: u64, errors: u64, (input, output): (u64, u64)) {
    assert_eq!(usage.as_array().unwrap().len(), 1, "{usage}");
    let usage = &usage[0];
    assert_eq!(usage["model"], "priced", "{usage}");
    let counts = ["requests", "errors", "input_tokens", "output_tokens"];
    let counts = counts.map(|name| usage[name].as_u64().unwrap());
    assert_eq!(counts, [requests, errors, input, output], "{usage}");
    let cost = (2 * input + 4 * output) as f64 / 1e6;
    assert_eq!(usage["cost"], json!(cost), "{usage}");
    assert_eq!(usage["requests_without_price"], 0, "{usage}");
}

/// Runs of every dialect, streamed and not, are killed with their server in their second turn
/// and in a command.
async fn killed(database: Option<String>) {
    let mut bed = Bed::start_with(database, &[SHORT_LEASE], PRICED_MODEL).await;
    for (place, dialect) in DIALECTS.into_iter().enumerate() {
        bed.model.hang_in(2);
        Bed::send_in_background(request(&bed, dialect, prompts::WRITE, true));
        wait_for("the second turn is requested", async || {
            (bed.model.calls(prompts::WRITE) == 2 * (place + 1)).then_some(())
        })
        .await;
    }
    for (place, dialect) in DIALECTS.into_iter().enumerate() {
        for stream in [true, false] {
            let prompt = linger(&format!("900.{place}"));
            Bed::send_in_background(request(&bed, dialect, &prompt, stream));
        }
    }
    let runs = 3 * DIALECTS.len();
    wait_for_states(&bed, &[("running", 1, runs)]).await;
    let list = Bed::json(bed.get("/v1/runs?limit=100")).await;
    let ids: Vec<&str> = list["data"].as_array().unwrap().iter().map(id).collect();
    let shown = Bed::json(bed.get(&format!("/v1/runs/{}", ids[0]))).await;
    assert_eq!(
        (&shown["status"], &shown["ended_at"]),
        (&json!("running"), &Value::Null)
    );
    assert_eq!(shown["usage"]["input_tokens"], 10, "{shown}");
    assert_eq!(bed.usage().await, json!([]));
    let cancel = bed.post(&format!("/v1/runs/{}/cancel", ids[0]));
    for refused in [cancel, bed.get(&format!("/v1/runs/{}/events", ids[0]))] {
        let refused = refused.send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::CONFLICT);
        let text = refused.text().await.unwrap();
        assert!(text.contains("run-not-kept"), "{text}");
    }

    // Two servers find them at the same time.
    bed.restart(&[SHORT_LEASE]);
    let second = bed.start_second(&[SHORT_LEASE]);
    wait_for_states(&bed, &[("interrupted", 1, runs)]).await;
    // Each first turn has 10 tokens of input and 6 of output.
    let used = (10 * runs as u64, 6 * runs as u64);
    assert_usage(&bed.usage().await, runs as u64, runs as u64, used);
    let again = Bed::json(bed.get("/v1/runs?limit=100")).await;
    let same: Vec<&str> = again["data"].as_array().unwrap().iter().map(id).collect();
    assert_eq!(same, ids, "in the same order");
    for id in ids {
        let run = Bed::json(bed.get(&format!("/v1/runs/{id}"))).await;
        assert_eq!(run["error"], "the server stopped before the run ended");
        assert!(run["ended_at"].is_string(), "{run}");
        assert_eq!(run["usage"]["output_tokens"], 6, "{run}");
        assert_eq!(run["skills"][0]["id"], bed.skill.as_str(), "{run}");
    }
    drop(second);

    // One that ends well after its row was written is counted once too.
    Bed::text(request(&bed, KeptDialect::Messages, &linger("0.6"), true)).await;
    let all = [("interrupted", 1, runs), ("completed", 2, 1)];
    wait_for_states(&bed, &all).await;
    let (requests, errors) = (runs as u64 + 1, runs as u64);
    let used = (used.0 + 30, used.1 + 13);
    assert_usage(&usage(&bed, requests).await, requests, errors, used);
    bed.restart(&[SHORT_LEASE]);
    // Nothing is left that could be counted again.
    let rows = bed.number("SELECT COUNT(*) FROM foreground_runs").await;
    assert_eq!(rows, 0);
    assert_usage(&bed.usage().await, requests, errors, used);
    wait_for_states(&bed, &all).await;
}

fn id(run: &Value) -> &str {
    run["id"].as_str().unwrap()
}

fn run(work: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().unwrap().block_on(work);
}

#[test]
fn a_run_whose_server_was_killed_is_recorded_with_its_usage_on_sqlite() {
    run(killed(None));
}

#[test]
fn a_run_whose_server_was_killed_is_recorded_with_its_usage_on_postgres() {
    let postgres = TestPostgres::start();
    run(killed(Some(postgres.database())));
}

/// A client that leaves ends its run, whether the store knows of it or not.
#[test]
fn a_run_whose_client_left_is_cancelled_and_not_interrupted() {
    run(async {
        let mut bed = Bed::start_with(None, &[SHORT_LEASE], PRICED_MODEL).await;
        let lingering = request(&bed, KeptDialect::Messages, &linger("900.7"), false);
        let client = Bed::send_in_background(lingering);
        wait_for_states(&bed, &[("running", 1, 1)]).await;
        client.abort();
        wait_for_states(&bed, &[("cancelled", 1, 1)]).await;
        assert_usage(&usage(&bed, 1).await, 1, 1, (10, 6));
        bed.restart(&[SHORT_LEASE]);
        let rows = bed.number("SELECT COUNT(*) FROM foreground_runs").await;
        assert_eq!(rows, 0);
        assert_usage(&bed.usage().await, 1, 1, (10, 6));
        assert_eq!(states(&bed).await.len(), 1);
    });
}
