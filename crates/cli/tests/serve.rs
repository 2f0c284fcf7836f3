//! `prowess serve` as those see it who run it: what it takes of the machine, what it
//! says of its health, where it sends what is for others.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod cluster_status;
mod reload;
mod server;

use std::sync::Arc;

use prowess_testkit::hostile::{self, HostileArchive};
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use reqwest::multipart::{Form, Part};
use serde_json::Value;
use server::{MASTER, TestServer};

/// Uploads under way at any moment.
const AT_ONCE: usize = 16;
/// How often each archive is sent.
const TIMES: usize = 4;
/// What all of them together may add to the memory of an idle server: half of what as
/// many skills of the 30 MB that one may have would take. Some of these archives unpack
/// to gigabytes, or say that they do.
const ADDED_KB: u64 = AT_ONCE as u64 * 30_000 / 2;

/// A line of `/proc/PID/status`, in kB.
fn memory(pid: u32, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let found = status.lines().find_map(|found| found.strip_prefix(line));
    let number = found
        .unwrap()
        .trim_start_matches(':')
        .trim_end_matches("kB");
    number.trim().parse().unwrap()
}

async fn upload(client: reqwest::Client, url: String, archive: Arc<HostileArchive>) {
    let part = Part::bytes(archive.bytes.clone()).file_name("skill.zip");
    let request = client.post(url).header("x-api-key", MASTER);
    let request = request.header("anthropic-version", "2023-06-01");
    let form = Form::new().part("files[]", part);
    let answer = request.multipart(form).send().await.unwrap();
    let (status, name) = (answer.status().as_u16(), &archive.name);
    let body: Value = answer.json().await.unwrap();
    assert_eq!(status, 400, "{name}: {body}");
    let code = &body["error"]["details"]["error_code"];
    assert_eq!(code, archive.code, "{name}: {body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_uploads_at_once_take_a_bounded_memory() {
    let server = TestServer::start(&[]);
    let client = reqwest::Client::new();
    let url = format!("{}/v1/skills", server.url());
    let idle = memory(server.pid(), "VmRSS");
    let all: Vec<_> = hostile::all().into_iter().map(Arc::new).collect();
    let mut waiting = all.iter().cycle().take(all.len() * TIMES);
    let mut under_way = tokio::task::JoinSet::new();
    loop {
        for archive in waiting.by_ref().take(AT_ONCE - under_way.len()) {
            under_way.spawn(upload(client.clone(), url.clone(), archive.clone()));
        }
        match under_way.join_next().await {
            Some(done) => done.unwrap(),
            None => break,
        }
    }
    let peak = memory(server.pid(), "VmHWM");
    let added = peak.saturating_sub(idle);
    println!(
        "idle {idle} kB, peak {peak} kB: {added} kB for {} archives",
        all.len()
    );
    assert!(added < ADDED_KB, "idle {idle} kB, at most {peak} kB");
}

#[tokio::test]
async fn health_shows_how_strong_the_sandbox_is() {
    let server = TestServer::start(&[]);
    let url = format!("{}/healthz", server.url());
    loop {
        let health: Value = reqwest::get(&url).await.unwrap().json().await.unwrap();
        assert_eq!(health["status"], "ok");
        match health["sandbox"].as_str() {
            Some("probing") => tokio::task::yield_now().await,
            Some("strict" | "reduced" | "refused") => break,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn the_console_is_announced_and_can_be_switched_off() {
    let status = async |server: &TestServer| {
        let page = reqwest::get(format!("{}/console/sign-in", server.url())).await;
        page.unwrap().status().as_u16()
    };
    let mut server = TestServer::start(&[]);
    assert_eq!(status(&server).await, 200);
    let address = format!("console: {}/console\n", server.url());
    let log = server.log();
    assert!(log.contains(&address), "{log}");
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("prowess.toml");
    std::fs::write(&config, "[server]\nconsole = false\n").unwrap();
    let mut server = TestServer::start(&[("PROWESS_CONFIG", config.to_str().unwrap())]);
    assert_eq!(status(&server).await, 404);
    let log = server.log();
    assert!(!log.contains("console"), "{log}");
}

/// The cookie of the operator's console session.
async fn signed_in(http: &reqwest::Client, url: &str) -> String {
    let sent = http
        .post(format!("{url}/console/sign-in"))
        .header("sec-fetch-site", "same-origin")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("key={MASTER}"));
    let answer = sent.send().await.unwrap();
    let cookie = answer.headers().get("set-cookie").unwrap();
    let cookie = cookie.to_str().unwrap().split(';').next().unwrap();
    cookie.to_owned()
}

#[tokio::test]
async fn a_page_is_one_line_of_the_log_and_settings_show_all_checks() {
    let mut server = TestServer::start(&[("PROWESS_LOG", "info")]);
    let none = reqwest::redirect::Policy::none();
    let http = reqwest::Client::builder().no_proxy().redirect(none);
    let http = http.build().unwrap();
    let cookie = signed_in(&http, server.url()).await;
    let page = http.get(format!("{}/console/settings", server.url()));
    let page = page.header("cookie", cookie).send().await.unwrap();
    let page = page.text().await.unwrap();
    for shown in [
        "configuration",
        "there is no prowess.toml",
        "this server listens on",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let report = http.get(format!("{}/v1/admin/doctor", server.url()));
    let report: Value = report
        .bearer_auth(MASTER)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let parts = report["data"].as_array().unwrap().iter();
    let parts: Vec<&str> = parts.map(|part| part["part"].as_str().unwrap()).collect();
    for part in [
        "store",
        "configuration",
        "sandbox",
        "runtime",
        "packages",
        "providers",
        "disk",
        "port",
    ] {
        assert!(parts.contains(&part), "{part}: {report}");
    }
    let log = server.log();
    let lines = |path: &str| log.lines().filter(|line| line.contains(path)).count();
    assert_eq!(lines("/console/settings"), 1, "{log}");
    // That of the request itself; the page asked for the same.
    assert_eq!(lines("/v1/admin/doctor"), 1, "{log}");
    assert_eq!(lines("/v1/admin/configuration"), 0, "{log}");
}

#[tokio::test]
async fn skills_at_anthropic_are_requested_with_the_key_of_its_provider() {
    let anthropic = MockUpstream::start().await;
    anthropic.respond_always(MockResponse::json(200, r#"{"id":"skill_there"}"#));
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("prowess.toml");
    let key = folder.path().join("key");
    std::fs::write(&key, "the-key-in-a-file\n").unwrap();
    let text = format!(
        "[providers.ours]\nkind = \"anthropic\"\nbase_url = \"{}/v1\"\napi_key = \"file:{}\"\n",
        anthropic.url(),
        key.display()
    );
    std::fs::write(&config, text).unwrap();
    let config = config.to_str().unwrap();
    let server = TestServer::start(&[("PROWESS_CONFIG", config), ("ANTHROPIC_API_KEY", "another")]);
    let ask = async || {
        let url = "/v1/skills/skill_1?custom_llm_provider=anthropic";
        let request = reqwest::Client::new().get(format!("{}{url}", server.url()));
        let request = request.header("x-api-key", MASTER);
        let answer = request
            .header("anthropic-version", "2023-06-01")
            .send()
            .await;
        let answer = answer.unwrap();
        (
            answer.status().as_u16(),
            answer.json::<Value>().await.unwrap(),
        )
    };
    assert_eq!(ask().await.1["id"], "skill_there");
    let received = anthropic.next_request().await;
    assert_eq!(received.path, "/v1/skills/skill_1");
    assert_eq!(received.header("x-api-key"), Some("the-key-in-a-file"));
    // What cannot be had is told, and no other key is used instead.
    std::fs::remove_file(&key).unwrap();
    let (status, body) = ask().await;
    assert_eq!(status, 400);
    let code = &body["error"]["details"]["error_code"];
    assert_eq!(code, "skill-provider-unconfigured");
    assert!(anthropic.requests().await.is_empty());
}
