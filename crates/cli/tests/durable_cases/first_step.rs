//! Servers that are killed before or after the first step of a run that begins with a container:
//! with files of the client, with a container that exists, or with calls that a paused run left
//! open.

use prowess_testkit::postgres::TestPostgres;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::durable::bed::{Bed, SHORT_LEASE, StoredRun};
use crate::durable::model::prompts;
use crate::durable::observation::container_id;
use crate::durable::poll::wait_for;
use crate::durable::request::{KeptDialect, in_container};
use crate::run;

/// Places before, at and after the first step.
const POINTS: [&str; 6] = [
    "before-turn:1",
    "turn-received:1",
    "turn-stored:1",
    "before-command:1",
    "command-done:1",
    "results-stored:1",
];

/// Waits until the last run has ended.
async fn last_run(bed: &Bed) -> StoredRun {
    wait_for("the last run ends", async || {
        let run = bed.runs().await.pop().unwrap();
        (!["queued", "running"].contains(&run.state.as_str())).then_some(run)
    })
    .await
}

/// A kept request in a container that exists.
fn continued(bed: &Bed, body: &Value) -> reqwest::RequestBuilder {
    let request = bed.post("/v1/messages").body(body.to_string());
    let request = request.header("anthropic-version", "2023-06-01");
    request.header("prowess-keep", "true")
}

async fn begins_with_a_file(database: Option<String>, point: &'static str) {
    let variables = [SHORT_LEASE, ("PROWESS_FAIL_POINT", point)];
    let mut bed = Bed::start(database, &variables).await;
    let part = Part::bytes(b"raw\n".to_vec()).file_name("log.txt");
    let form = Form::new().text("purpose", "user_data").part("file", part);
    let file = Bed::json(bed.post("/v1/files").multipart(form)).await;
    let environment = json!({"type": "container_auto", "file_ids": [file["id"]]});
    let body = json!({
        "model": "ant/m", "background": true, "input": format!("{} a", prompts::APPEND),
        "tools": [{"type": "shell", "environment": environment}],
    });
    Bed::send_in_background(bed.post("/v1/responses").body(body.to_string()));
    bed.wait_for_death().await;
    bed.restart(&[]);
    let run = bed.ended_run().await;
    assert_eq!(run.state, "completed", "{point}: {run:?}");
    let files = bed.files(&container_id(&run.result)).await;
    assert!(
        files.ends_with("\n\nraw\na1\na2\na3\nend"),
        "{point}: {files}"
    );
    assert!(bed.model.calls(prompts::APPEND) <= 5, "{point}");
    // A container of an attempt that was lost is not one that clients could name.
    let containers = bed.number("SELECT COUNT(*) FROM sessions").await;
    assert_eq!(containers, 1, "{point}");
}

async fn begins_in_a_container(database: Option<String>, point: &'static str) {
    let mut bed = Bed::start(database, &[SHORT_LEASE]).await;
    Bed::text(bed.kept_request(KeptDialect::Messages, prompts::WRITE)).await;
    let container = container_id(&bed.only_run().await.result);
    bed.restart(&[SHORT_LEASE, ("PROWESS_FAIL_POINT", point)]);
    let body = in_container(&format!("{} a", prompts::APPEND), &container);
    Bed::send_in_background(continued(&bed, &body));
    bed.wait_for_death().await;
    bed.restart(&[]);
    let run = last_run(&bed).await;
    assert_eq!(run.state, "completed", "{point}: {run:?}");
    assert_eq!(container_id(&run.result), container, "{point}");
    let files = bed.files(&container).await;
    assert!(
        files.ends_with("\n\none\ntwo\na1\na2\na3\nend"),
        "{point}: {files}"
    );
}

/// A run of two turns is paused with its second call, and a later request goes on with it.
async fn begins_with_a_call(database: Option<String>, point: &'static str) {
    let limits = "[skills]\nturns = 2\n";
    let mut bed = Bed::start_with(database, &[SHORT_LEASE], limits).await;
    let mut body = KeptDialect::Messages.body(&format!("{} a", prompts::APPEND), &bed.skill);
    body["stream"] = false.into();
    let request = bed.post("/v1/messages").body(body.to_string());
    let paused = Bed::json(request.header("anthropic-version", "2023-06-01")).await;
    assert_eq!(paused["stop_reason"], "pause_turn", "{paused}");
    let container = paused["container"]["id"].as_str().unwrap().to_owned();
    body["container"] = container.as_str().into();
    let answer = json!({"role": "assistant", "content": paused["content"]});
    body["messages"].as_array_mut().unwrap().push(answer);
    bed.restart(&[SHORT_LEASE, ("PROWESS_FAIL_POINT", point)]);
    Bed::send_in_background(continued(&bed, &body));
    bed.wait_for_death().await;
    bed.restart(&[]);
    let run = last_run(&bed).await;
    assert_eq!(run.state, "completed", "{point}: {run:?}");
    let files = bed.files(&container).await;
    assert!(files.ends_with("\n\na1\na2\na3\nend"), "{point}: {files}");
}

async fn killed_everywhere(database: impl Fn() -> Option<String>, points: &[&'static str]) {
    let database = &database;
    let files = points
        .iter()
        .map(|point| begins_with_a_file(database(), point));
    futures_util::future::join_all(files).await;
    let existing = points.iter();
    let existing = existing.map(|point| begins_in_a_container(database(), point));
    futures_util::future::join_all(existing).await;
    let calls = points
        .iter()
        .map(|point| begins_with_a_call(database(), point));
    futures_util::future::join_all(calls).await;
}

#[test]
fn a_run_that_begins_with_a_container_ends_as_if_its_server_had_not_been_killed() {
    let postgres = TestPostgres::start();
    std::thread::scope(|scope| {
        scope.spawn(|| run(killed_everywhere(|| None, &POINTS)));
        let points = ["turn-received:1", "turn-stored:1", "command-done:1"];
        run(killed_everywhere(|| Some(postgres.database()), &points));
    });
}
