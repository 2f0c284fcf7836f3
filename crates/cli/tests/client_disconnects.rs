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
use prowess_wire::ClientDialect;
use serde_json::{Value, json};
use server::{is_left_out, sleep_seconds};
use vendors::client::{in_container, new_request, path};
use vendors::upstream_request::UpstreamRequest;
use vendors::vendor::Vendor;
use vendors::{TestGateway, run};

const VENDOR: Vendor = Vendor::Chat;

fn bash(command: &str) -> (&'static str, Value) {
    ("bash_code_execution", json!({"command": command}))
}

/// Reads an answer until it has said this.
async fn read_until(answer: &mut reqwest::Response, word: &str) {
    let mut received = String::new();
    while !received.contains(word) {
        received += &String::from_utf8_lossy(&answer.chunk().await.unwrap().unwrap());
    }
}

/// Waits until so many runs are recorded, and gives how they ended.
async fn endings(gateway: &TestGateway, count: usize) -> Vec<Value> {
    loop {
        let runs = gateway.get("/v1/runs?limit=100").await.json();
        let mut runs = runs["data"].as_array().unwrap().clone();
        runs.retain(|run| run["status"] != "running");
        if runs.len() >= count {
            return runs.iter().map(|run| run["status"].clone()).collect();
        }
        tokio::task::yield_now().await;
    }
}

async fn start_gateway() -> (TestGateway, String) {
    let gateway = TestGateway::open(1, "").await;
    let skill = gateway.store(&SkillFixture::new("report")).await;
    (gateway, skill)
}

fn stream_request(skill: &str) -> Value {
    new_request(ClientDialect::Messages, &VENDOR.model(0), true, &[skill])
}

#[test]
fn who_leaves_before_the_first_byte_ends_the_upstreams_work() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        gateway.upstreams[0].respond(prowess_testkit::upstream::MockResponse::never());
        let request = stream_request(&skill);
        tokio::select! {
            _ = gateway.begin("/v1/messages", &request) => unreachable!("nothing was answered"),
            _ = gateway.upstreams[0].next_request() => {}
        }
        gateway.upstreams[0].client_disconnected().await;
        assert_eq!(endings(&gateway, 1).await, ["cancelled"]);
    });
}

#[test]
fn who_leaves_in_a_later_turn_ends_the_upstreams_work() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        gateway.upstreams[0].respond(VENDOR.calls(true, "I run it.", &[bash("echo f-i-n-e")]));
        gateway.upstreams[0].respond(prowess_testkit::upstream::MockResponse::never());
        let mut answer = gateway.begin("/v1/messages", &stream_request(&skill)).await;
        read_until(&mut answer, "f-i-n-e\\n").await;
        gateway.upstreams[0].next_request().await;
        gateway.upstreams[0].next_request().await;
        drop(answer);
        gateway.upstreams[0].client_disconnected().await;
        assert_eq!(endings(&gateway, 1).await, ["cancelled"]);
    });
}

#[test]
fn who_leaves_while_it_is_streamed_to_ends_the_upstreams_work() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        gateway.upstreams[0].respond(
            VENDOR
                .text_turn(true, "And so on.")
                .in_chunks(60)
                .then_hang(),
        );
        let mut answer = gateway.begin("/v1/messages", &stream_request(&skill)).await;
        read_until(&mut answer, "And so on.").await;
        drop(answer);
        gateway.upstreams[0].client_disconnected().await;
        assert_eq!(endings(&gateway, 1).await, ["cancelled"]);
    });
}

#[test]
fn who_leaves_in_a_tool_ends_it_and_may_go_on_in_the_container() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let upstream = &gateway.upstreams[0];
        let turn = |command: &str| {
            upstream.respond(VENDOR.calls(true, "I run it.", &[bash(command)]));
            upstream.respond(VENDOR.text_turn(true, "Done."));
        };
        turn("echo kept > note.txt");
        let first = gateway.post("/v1/messages", &stream_request(&skill)).await;
        let mut request = stream_request(&skill);
        in_container(ClientDialect::Messages, &mut request, &first);

        let seconds = sleep_seconds(86_397);
        turn(&format!("sleep {seconds}"));
        let mut answer = gateway.begin("/v1/messages", &request).await;
        read_until(&mut answer, &format!("sleep {seconds}")).await;
        while !is_running(&seconds) {
            tokio::task::yield_now().await;
        }
        drop(answer);
        while is_running(&seconds) {
            tokio::task::yield_now().await;
        }
        upstream.clear_responses();
        upstream.requests().await;

        turn("cat note.txt");
        let last = gateway.post("/v1/messages", &request).await;
        assert_eq!(last.status, 200, "{}", last.text);
        let sent = upstream.requests().await;
        let sent = UpstreamRequest::read(VENDOR, sent.last().unwrap());
        assert!(sent.result(0).contains("kept"), "{}", sent.body);
        let mut ended = endings(&gateway, 3).await;
        ended.sort_by_key(Value::to_string);
        assert_eq!(ended, ["cancelled", "completed", "completed"]);
    });
}

#[test]
fn who_leaves_in_a_tool_ends_it_in_every_dialect() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let clients = [
            ClientDialect::Messages,
            ClientDialect::Chat,
            ClientDialect::Responses,
        ];
        let cases = clients.map(|client| [(client, false), (client, true)]);
        for ((client, stream), number) in cases.into_iter().flatten().zip(0..) {
            let seconds = sleep_seconds(86_390 - number);
            let call = bash(&format!("sleep {seconds}"));
            gateway.upstreams[0].respond(VENDOR.calls(stream, "I wait.", &[call]));
            let request = new_request(client, &VENDOR.model(0), stream, &[&skill]);
            let started = async {
                while !is_running(&seconds) {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                responses = gateway.post(path(client), &request) => unreachable!("{responses:?}"),
                () = started => {}
            }
            while is_running(&seconds) {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(endings(&gateway, 6).await, ["cancelled"; 6]);
    });
}

#[test]
fn a_command_ends_with_the_key_of_its_run() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let new = json!({"name": "of a run", "scopes": ["use"]});
        let key = gateway.post("/v1/admin/keys", &new).await.json();
        let seconds = sleep_seconds(86_380);
        let call = bash(&format!("sleep {seconds}"));
        gateway.upstreams[0].respond(VENDOR.calls(true, "I wait.", &[call]));
        let request = stream_request(&skill);
        let url = format!("{}/v1/messages", gateway.server.url());
        let sent = gateway
            .http
            .post(url)
            .bearer_auth(key["key"].as_str().unwrap());
        let sent = sent.header("anthropic-version", "2023-06-01");
        let mut answer = sent.body(request.to_string()).send().await.unwrap();
        read_until(&mut answer, &format!("sleep {seconds}")).await;
        while !is_running(&seconds) {
            tokio::task::yield_now().await;
        }
        let path = format!("/v1/admin/keys/{}", key["id"].as_str().unwrap());
        assert_eq!(gateway.delete(&path).await, 200);
        let rest = answer.text().await.unwrap();
        assert!(rest.contains("event: error"), "{rest}");
        assert!(rest.contains("key-unknown"), "{rest}");
        while is_running(&seconds) {
            tokio::task::yield_now().await;
        }
        assert_eq!(endings(&gateway, 1).await, ["cancelled"]);
    });
}

#[test]
fn who_leaves_often_leaves_nothing_open() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let turn = VENDOR
            .text_turn(true, "And so on.")
            .in_chunks(60)
            .then_hang();
        gateway.upstreams[0].respond_always(turn);
        let leave = async || {
            let mut answer = gateway.begin("/v1/messages", &stream_request(&skill)).await;
            read_until(&mut answer, "And so on.").await;
        };
        leave().await;
        endings(&gateway, 1).await;
        let before = open_files(gateway.server.pid());
        for _ in 0..40 {
            leave().await;
        }
        endings(&gateway, 41).await;
        // Connections close a moment after those who used them are gone.
        while open_files(gateway.server.pid()) > before + 5 {
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
        let gateway = TestGateway::open(0, &more).await;
        let skill = gateway.store(&SkillFixture::new("report")).await;
        let clients = [
            ClientDialect::Messages,
            ClientDialect::Chat,
            ClientDialect::Responses,
        ];
        let runs = (0..200).map(|n| {
            let client = clients[n % 3];
            let request = new_request(client, "stage/m", n % 2 == 0, &[&skill]);
            let gateway = &gateway;
            async move { gateway.post(path(client), &request).await }
        });
        let responses = futures_util::future::join_all(runs).await;
        for response in &responses {
            assert_eq!(response.status, 200, "{}", response.text);
            assert!(response.text.contains("Done."), "{}", response.text);
        }
        let runs: std::collections::BTreeSet<_> =
            responses.iter().map(|response| &response.run).collect();
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
    if is_left_out("a_server_does_without_huge_pages_and_what_it_runs_does_not") {
        return;
    }
    run(async {
        let (gateway, skill) = start_gateway().await;
        let pid = gateway.server.pid();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("THP_enabled:\t0"), "{status}");
        let upstream = &gateway.upstreams[0];
        let look = bash("grep THP_enabled /proc/self/status");
        upstream.respond(VENDOR.calls(true, "I look.", &[look]));
        upstream.respond(VENDOR.text_turn(true, "Done."));
        let response = gateway.post("/v1/messages", &stream_request(&skill)).await;
        assert!(
            response.text.contains("THP_enabled:\\t1"),
            "{}",
            response.text
        );
    });
}
