//! Clients that leave in each phase of a run, and many runs at once: what was started
//! ends, what was kept stays usable, and how the server is set up stays with the server.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;
mod vendors;

use std::path::Path;

use prowess_testkit::SkillFixture;
use prowess_wire::Client;
use serde_json::{Value, json};
use vendors::client::{asks, in_session, path};
use vendors::sent::Sent;
use vendors::speak::Vendor;
use vendors::{Place, run};

const VENDOR: Vendor = Vendor::Chat;

fn bash(command: &str) -> (&'static str, Value) {
    ("bash_code_execution", json!({"command": command}))
}

/// Reads an answer until it has said this.
async fn hears(answer: &mut reqwest::Response, word: &str) {
    let mut heard = String::new();
    while !heard.contains(word) {
        heard += &String::from_utf8_lossy(&answer.chunk().await.unwrap().unwrap());
    }
}

/// Waits until so many runs are recorded, and gives how they ended.
async fn endings(place: &Place, count: usize) -> Vec<Value> {
    loop {
        let runs = place.get("/v1/runs?limit=100").await.json();
        let runs = runs["data"].as_array().unwrap().clone();
        if runs.len() >= count {
            return runs.iter().map(|run| run["status"].clone()).collect();
        }
        tokio::task::yield_now().await;
    }
}

async fn place() -> (Place, String) {
    let place = Place::open(1, "").await;
    let skill = place.store(&SkillFixture::new("report")).await;
    (place, skill)
}

fn asked(skill: &str) -> Value {
    asks(Client::Messages, &VENDOR.model(0), true, &[skill])
}

#[test]
fn who_leaves_before_the_first_byte_ends_the_upstreams_work() {
    run(async {
        let (place, skill) = place().await;
        place.lanes[0].answer(prowess_testkit::upstream::Answer::never());
        let asked = asked(&skill);
        tokio::select! {
            _ = place.begin("/v1/messages", &asked) => unreachable!("nothing was answered"),
            _ = place.lanes[0].next_request() => {}
        }
        place.lanes[0].client_left().await;
        assert_eq!(endings(&place, 1).await, ["cancelled"]);
    });
}

#[test]
fn who_leaves_in_a_later_turn_ends_the_upstreams_work() {
    run(async {
        let (place, skill) = place().await;
        place.lanes[0].answer(VENDOR.calls(true, "I run it.", &[bash("echo f-i-n-e")]));
        place.lanes[0].answer(prowess_testkit::upstream::Answer::never());
        let mut answer = place.begin("/v1/messages", &asked(&skill)).await;
        hears(&mut answer, "f-i-n-e\\n").await;
        place.lanes[0].next_request().await;
        place.lanes[0].next_request().await;
        drop(answer);
        place.lanes[0].client_left().await;
        assert_eq!(endings(&place, 1).await, ["cancelled"]);
    });
}

#[test]
fn who_leaves_while_it_is_streamed_to_ends_the_upstreams_work() {
    run(async {
        let (place, skill) = place().await;
        place.lanes[0].answer(VENDOR.says(true, "And so on.").in_pieces(60).hang());
        let mut answer = place.begin("/v1/messages", &asked(&skill)).await;
        hears(&mut answer, "And so on.").await;
        drop(answer);
        place.lanes[0].client_left().await;
        assert_eq!(endings(&place, 1).await, ["cancelled"]);
    });
}

#[test]
fn who_leaves_in_a_tool_ends_it_and_may_go_on_in_the_session() {
    run(async {
        let (place, skill) = place().await;
        let upstream = &place.lanes[0];
        let turn = |command: &str| {
            upstream.answer(VENDOR.calls(true, "I run it.", &[bash(command)]));
            upstream.answer(VENDOR.says(true, "Done."));
        };
        turn("echo kept > note.txt");
        let first = place.post("/v1/messages", &asked(&skill)).await;
        let mut asked = asked(&skill);
        in_session(Client::Messages, &mut asked, &first);

        turn("sleep 86397");
        let mut answer = place.begin("/v1/messages", &asked).await;
        hears(&mut answer, "sleep 86397").await;
        while !is_running("86397") {
            tokio::task::yield_now().await;
        }
        drop(answer);
        while is_running("86397") {
            tokio::task::yield_now().await;
        }
        upstream.forget();
        upstream.requests().await;

        turn("cat note.txt");
        let last = place.post("/v1/messages", &asked).await;
        assert_eq!(last.status, 200, "{}", last.text);
        let sent = upstream.requests().await;
        let sent = Sent::read(VENDOR, sent.last().unwrap());
        assert!(sent.result(0).contains("kept"), "{}", sent.body);
        let mut ended = endings(&place, 3).await;
        ended.sort_by_key(Value::to_string);
        assert_eq!(ended, ["cancelled", "completed", "completed"]);
    });
}

#[test]
fn who_leaves_in_a_tool_ends_it_in_every_dialect() {
    run(async {
        let (place, skill) = place().await;
        let clients = [Client::Messages, Client::Chat, Client::Responses];
        let cases = clients.map(|client| [(client, false), (client, true)]);
        for (n, (client, stream)) in cases.into_iter().flatten().enumerate() {
            let seconds = format!("{}", 86_390 - n);
            let call = bash(&format!("sleep {seconds}"));
            place.lanes[0].answer(VENDOR.calls(stream, "I wait.", &[call]));
            let asked = asks(client, &VENDOR.model(0), stream, &[&skill]);
            let started = async {
                while !is_running(&seconds) {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                told = place.post(path(client), &asked) => unreachable!("{told:?}"),
                () = started => {}
            }
            while is_running(&seconds) {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(endings(&place, 6).await, ["cancelled"; 6]);
    });
}

#[test]
fn who_leaves_often_leaves_nothing_open() {
    run(async {
        let (place, skill) = place().await;
        let turn = VENDOR.says(true, "And so on.").in_pieces(60).hang();
        place.lanes[0].answer_always(turn);
        let leave = async || {
            let mut answer = place.begin("/v1/messages", &asked(&skill)).await;
            hears(&mut answer, "And so on.").await;
        };
        leave().await;
        endings(&place, 1).await;
        let before = open_files(place.server.pid());
        for _ in 0..40 {
            leave().await;
        }
        endings(&place, 41).await;
        // Connections close a moment after those who used them are gone.
        while open_files(place.server.pid()) > before + 5 {
            tokio::task::yield_now().await;
        }
    });
}

fn open_files(process: u32) -> usize {
    let files = std::fs::read_dir(format!("/proc/{process}/fd"));
    files.unwrap().count()
}

const SCRIPT: &str = r#"
[[step]]
when.tool_result = "f-i-n-e"
text = "Done."

[[step]]
when.user = "Go"
calls = [{ name = "bash_code_execution", input = { command = "echo f-i-n-e" } }]

[[step]]
text = "No step fits: {{tool_result}}"
"#;

#[test]
fn two_hundred_runs_at_once_all_end_well() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script.toml");
        std::fs::write(&script, SCRIPT).unwrap();
        let script = script.display();
        let more = format!("[providers.stage]\nkind = 'scripted'\nscript = '{script}'\n");
        let place = Place::open(0, &more).await;
        let skill = place.store(&SkillFixture::new("report")).await;
        let clients = [Client::Messages, Client::Chat, Client::Responses];
        let runs = (0..200).map(|n| {
            let client = clients[n % 3];
            let asked = asks(client, "stage/m", n % 2 == 0, &[&skill]);
            let place = &place;
            async move { place.post(path(client), &asked).await }
        });
        let told = futures_util::future::join_all(runs).await;
        for told in &told {
            assert_eq!(told.status, 200, "{}", told.text);
            assert!(told.text.contains("Done."), "{}", told.text);
        }
        let runs: std::collections::BTreeSet<_> = told.iter().map(|told| &told.run).collect();
        assert_eq!(runs.len(), 200, "each is a run of its own");
    });
}

/// Whether a process of this machine was started with this argument.
fn is_running(argument: &str) -> bool {
    let processes = std::fs::read_dir(Path::new("/proc")).unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| {
        let mut words = line.split(|byte| *byte == 0);
        words.any(|word| word == argument.as_bytes())
    })
}

#[test]
fn a_server_does_without_huge_pages_and_what_it_runs_does_not() {
    run(async {
        let (place, skill) = place().await;
        let pid = place.server.pid();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("THP_enabled:\t0"), "{status}");
        let upstream = &place.lanes[0];
        let look = bash("grep THP_enabled /proc/self/status");
        upstream.answer(VENDOR.calls(true, "I look.", &[look]));
        upstream.answer(VENDOR.says(true, "Done."));
        let told = place.post("/v1/messages", &asked(&skill)).await;
        assert!(told.text.contains("THP_enabled:\\t1"), "{}", told.text);
    });
}
