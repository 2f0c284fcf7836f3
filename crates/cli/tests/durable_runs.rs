//! Kept runs under the real server, which is killed at every named point: after a restart they
//! end as if nothing had happened.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod durable;
mod durable_cases;
mod server;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use durable::bed::{Bed, SHORT_LEASE};
use durable::compare::normalised;
use durable::database::migrated_database;
use durable::events::{NumberedEvent, assert_dense, parse_events};
use durable::follow::{follow, next_event};
use durable::kill::KillPoint;
use durable::model::prompts;
use durable::observation::{Observation, container_id};
use durable::poll::{is_running, wait_for};
use durable::request::{KeptDialect, in_container};
use prowess_testkit::postgres::TestPostgres;
use reqwest::StatusCode;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Servers that are killed at the same time: each waits most of the time, for a lease to end.
const AT_ONCE: usize = 8;

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(work)
}

/// A time for a command to take, by which its process is known.
fn seconds(whole: u32, number: u32) -> String {
    format!("{whole}.0{number}{}", std::process::id())
}

/// Runs a case on both databases at the same time: it waits most of the time, for a lease to end.
fn on_both_databases(case: impl AsyncFn(Option<String>) + Sync) {
    let postgres = TestPostgres::start();
    std::thread::scope(|scope| {
        scope.spawn(|| run(case(None)));
        run(case(Some(postgres.database())));
    });
}

/// What a run gives that nothing disturbs.
async fn undisturbed(dialect: KeptDialect, database: Option<String>) -> Observation {
    let bed = Bed::start(database, &[]).await;
    Bed::text(bed.kept_request(dialect, prompts::WRITE)).await;
    let undisturbed = Observation::wait("undisturbed", &bed, dialect).await;
    assert_eq!(undisturbed.calls, 3);
    assert!(
        undisturbed.files.ends_with("\n\none\ntwo\nend"),
        "{}",
        undisturbed.files
    );
    undisturbed
}

/// Kills a server at every point, for each dialect.
fn kill_everywhere(database: impl Fn() -> Option<String> + Sync) {
    let expected = KeptDialect::ALL.map(|dialect| undisturbed(dialect, database()));
    let expected = run(futures_util::future::join_all(expected));
    let cases = KeptDialect::ALL.into_iter().zip(&expected);
    let cases = cases.flat_map(|(dialect, expected)| {
        let points = KillPoint::ALL.iter();
        let passed = points.filter(move |point| point.is_passed_by(dialect));
        passed.map(move |point| (dialect, point, expected))
    });
    let cases = Mutex::new(cases);
    let failures = Mutex::new(Vec::new());
    let work = || {
        loop {
            let next = cases.lock().unwrap().next();
            let Some((dialect, point, expected)) = next else {
                break;
            };
            let case = format!("{dialect:?} {point:?}");
            let checked = catch_unwind(AssertUnwindSafe(|| {
                let disturbed = run(point.run(&case, dialect, database()));
                let abandoned = expected.assert_same(&case, &disturbed);
                point.assert_abandoned(&case, dialect, &abandoned);
            }));
            if checked.is_err() {
                failures.lock().unwrap().push(case);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_run_ends_as_if_its_server_had_not_been_killed_on_sqlite() {
    kill_everywhere(|| None);
}

#[test]
fn a_run_ends_as_if_its_server_had_not_been_killed_on_postgres() {
    let postgres = TestPostgres::start();
    kill_everywhere(|| Some(migrated_database(&postgres)));
}

/// A server that is killed while a command runs: the command is run again from the files that
/// it had.
async fn killed_in_a_command(database: Option<String>, dialect: KeptDialect, argument: &str) {
    let mut bed = Bed::start(database, &[SHORT_LEASE]).await;
    let prompt = format!("{} {argument}", prompts::LINGER);
    let request = bed.kept_request(dialect, &prompt);
    Bed::send_in_background(request);
    wait_for("the command runs", async || {
        is_running(argument).then_some(())
    })
    .await;
    bed.restart(&[]);
    let id = bed.only_run().await.id;
    assert_dense(&bed.events(&id).await, 0);
    let run = bed.only_run().await;
    assert_eq!(run.state, "completed", "{run:?}");
    let result = bed.model.last_result();
    let files = bed.files(&container_id(&run.result)).await;
    assert!(files.ends_with("\n\none\nend"), "{files}: {result}");
    assert_eq!(bed.model.calls(prompts::LINGER), 2);
}

/// In a command of each dialect, all at the same time.
fn kill_in_commands(database: impl Fn() -> Option<String>) {
    std::thread::scope(|scope| {
        for (dialect, number) in KeptDialect::ALL.into_iter().zip(10..) {
            let (database, argument) = (database(), seconds(2, number));
            scope.spawn(move || run(killed_in_a_command(database, dialect, &argument)));
        }
    });
}

#[test]
fn a_command_whose_server_was_killed_is_run_again_from_its_files_on_sqlite() {
    kill_in_commands(|| None);
}

#[test]
fn a_command_whose_server_was_killed_is_run_again_from_its_files_on_postgres() {
    let postgres = TestPostgres::start();
    kill_in_commands(|| Some(migrated_database(&postgres)));
}

async fn three_runs_in_one_container(database: Option<String>) {
    let bed = Bed::start(database, &[]).await;
    let first = bed.kept_request(KeptDialect::Messages, prompts::WRITE);
    Bed::text(first).await;
    let container = container_id(&bed.only_run().await.result);
    let runs = ["a", "b", "c"].map(|letter| {
        let prompt = format!("{} {letter}", prompts::APPEND);
        let body = in_container(&prompt, &container);
        let request = bed.post("/v1/messages").body(body.to_string());
        let request = request.header("anthropic-version", "2023-06-01");
        request.header("prowess-keep", "true").send()
    });
    let mut done = String::new();
    for (response, letter) in futures_util::future::join_all(runs)
        .await
        .into_iter()
        .zip(["a", "b", "c"])
    {
        let response = response.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        if status.is_success() {
            done += letter;
        } else {
            assert!(text.contains("container-busy"), "{status} {text}");
        }
    }
    assert!(!done.is_empty());
    let files = bed.files(&container).await;
    let (_, log) = files.split_once("\n\none\ntwo\n").unwrap();
    let lines: Vec<&str> = log.strip_suffix("end").unwrap().lines().collect();
    // Whole runs, in some order.
    assert_eq!(lines.len(), 3 * done.len(), "{files}");
    for (place, lines) in lines.chunks(3).enumerate() {
        let letter = lines[0].strip_suffix('1').unwrap();
        assert!(done.contains(letter), "{place}: {files}");
        let expected = [1, 2, 3].map(|turn| format!("{letter}{turn}"));
        assert_eq!(lines, expected, "{files}");
    }
}

#[test]
fn runs_in_one_container_do_not_mix_their_files() {
    on_both_databases(three_runs_in_one_container);
}

async fn one_run_for_one_key(database: Option<String>) {
    let bed = Bed::start(database, &[]).await;
    let request = || {
        bed.kept_request(KeptDialect::Messages, prompts::WRITE)
            .send()
    };
    let responses = futures_util::future::join_all((0..4).map(|_| request())).await;
    let mut texts = Vec::new();
    for response in responses {
        let response = response.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let run = response.headers()["prowess-run"]
            .to_str()
            .unwrap()
            .to_owned();
        assert_eq!(run, bed.only_run().await.id);
        texts.push(response.text().await.unwrap());
    }
    let first = parse_events(&texts[0]);
    assert_dense(&first, 0);
    for text in &texts {
        assert_eq!(parse_events(text), first);
    }
    assert_eq!(bed.model.calls(prompts::WRITE), 3);
    let other = bed.kept_request(KeptDialect::Messages, prompts::INSPECT);
    let other = other.send().await.unwrap();
    assert_eq!(other.status(), StatusCode::CONFLICT);
    let text = other.text().await.unwrap();
    assert!(text.contains("idempotency-key-reused"), "{text}");
    assert!(text.contains(&bed.only_run().await.id), "{text}");
    assert_eq!(bed.model.calls(prompts::INSPECT), 0);
}

#[test]
fn a_key_names_one_run_however_often_it_is_sent() {
    on_both_databases(one_run_for_one_key);
}

async fn cancelled_in_a_command(database: Option<String>, argument: &str) {
    let bed = Bed::start(database, &[]).await;
    let prompt = format!("{} {argument}", prompts::LINGER);
    let request = bed.kept_request(KeptDialect::Responses, &prompt);
    let stream = Bed::send_in_background(request);
    wait_for("the command runs", async || {
        is_running(argument).then_some(())
    })
    .await;
    let run = bed.only_run().await.id;
    let response = format!("/v1/responses/{}", run.replace("run_", "resp_"));
    let cancelled = Bed::json(bed.post(&format!("{response}/cancel"))).await;
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    wait_for("the command ends", async || {
        (!is_running(argument)).then_some(())
    })
    .await;
    let again = Bed::json(bed.post(&format!("{response}/cancel"))).await;
    assert_eq!(again, cancelled);
    let shown = Bed::json(bed.post(&format!("/v1/runs/{run}/cancel"))).await;
    assert_eq!(shown["status"], "cancelled", "{shown}");
    assert_eq!(Bed::json(bed.get(&response)).await, cancelled);
    let events = parse_events(&stream.await.unwrap());
    assert_dense(&events, 0);
    assert_eq!(events, bed.events(&run).await);
    let last = &events.last().unwrap().data;
    assert!(last.to_string().contains("cancelled"), "{last}");
    assert_eq!(bed.model.calls(prompts::LINGER), 1);
}

#[test]
fn a_run_is_cancelled_while_its_command_runs_and_stays_so() {
    on_both_databases(async |database| {
        let argument = seconds(900, if database.is_none() { 3 } else { 6 });
        cancelled_in_a_command(database, &argument).await;
    });
}

#[test]
fn a_stream_that_is_cut_after_every_event_continues_where_it_was() {
    run(async {
        for dialect in KeptDialect::STREAMED {
            let bed = Bed::start(None, &[]).await;
            // Some events are read while the run goes on, others after its end.
            let prompt = format!("{} 0.5", prompts::LINGER);
            let response = bed.kept_request(dialect, &prompt).send().await.unwrap();
            let run = response.headers()["prowess-run"]
                .to_str()
                .unwrap()
                .to_owned();
            drop(response);
            let mut parts = Vec::new();
            let mut last = None;
            while let Some(event) = next_event(&bed, dialect, &run, last).await {
                last = Some(event.number);
                parts.push(event);
            }
            let whole = bed.events(&run).await;
            assert_dense(&whole, 0);
            assert_eq!(bed.only_run().await.state, "completed");
            let data = |events: &[NumberedEvent]| -> Vec<Value> {
                events.iter().map(|event| event.data.clone()).collect()
            };
            assert_eq!(data(&parts), data(&whole), "{dialect:?}");
            for (place, event) in whole.iter().enumerate() {
                let request = follow(&bed, dialect, &run, Some(event.number));
                let rest = parse_events(&Bed::text(request).await);
                assert_eq!(data(&rest), data(&whole[place + 1..]), "{dialect:?}");
            }
        }
    });
}

/// A server that is stopped for longer than its lease, while another one finishes its run: it
/// must not write anything when it goes on.
async fn stopped_past_its_lease(database: Option<String>, argument: &str) {
    let mut bed = Bed::start(database, &[SHORT_LEASE]).await;
    let prompt = format!("{} {argument}", prompts::LINGER);
    let request = bed.kept_request(KeptDialect::Messages, &prompt);
    let client = Bed::send_in_background(request);
    wait_for("the command runs", async || {
        is_running(argument).then_some(())
    })
    .await;
    let pid = Pid::from_raw(bed.server.pid().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let second = bed.start_second(&[]);
    let before = bed.ended_run().await;
    assert_eq!(before.state, "completed", "{before:?}");
    let calls = bed.model.calls(prompts::LINGER);
    kill_process(pid, Signal::CONT).unwrap();
    // It answers its client with what the other server did.
    let text = client.await.unwrap();
    let events = parse_events(&text);
    assert_dense(&events, 0);
    let after = bed.only_run().await;
    assert_eq!(normalised(&after.result), normalised(&before.result));
    let log = bed.server.log();
    assert!(log.contains("another server owns the run"), "{log}");
    // Kept: its folder has the data.
    let _first = std::mem::replace(&mut bed.server, second);
    assert_eq!(bed.events(&after.id).await, events);
    let files = bed.files(&container_id(&after.result)).await;
    assert!(files.ends_with("\n\none\nend"), "{files}");
    assert_eq!(bed.model.calls(prompts::LINGER), calls);
    assert!(calls <= 3, "{calls}");
}

#[test]
fn a_server_that_lost_its_run_while_it_was_stopped_writes_nothing() {
    on_both_databases(async |database| {
        let argument = seconds(2, if database.is_none() { 4 } else { 5 });
        stopped_past_its_lease(database, &argument).await;
    });
}
