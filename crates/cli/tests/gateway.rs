//! `prowess serve` as a gateway: the real binary, the example's configuration, and a
//! client that knows nothing but HTTP.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod imported;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use prowess_store::{PartCost, RunCounts, SkillCost, Store, StoreConfig, TenantId, UsageRow};
use serde_json::json;

/// A running server; killed when dropped.
struct TestServer {
    child: Child,
    address: String,
    /// Its output at the start.
    startup_lines: Vec<String>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn prowess(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
    command
        .env_clear()
        .current_dir(folder)
        .args(["serve", "--listen", "127.0.0.1:0", "--log", "error"])
        .arg("--data-dir")
        .arg(folder)
        .stderr(Stdio::piped());
    command
}

/// Starts a server and waits until it has printed its address and its providers.
fn serve(mut command: Command) -> TestServer {
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut startup_lines = Vec::new();
    while !startup_lines
        .iter()
        .any(|line: &String| line.contains("models") || line.contains("no provider keys"))
    {
        match lines.next() {
            Some(line) => startup_lines.push(line.unwrap()),
            None => panic!("it ended: {startup_lines:?}"),
        }
    }
    // Its later output must not fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    let listening = startup_lines
        .iter()
        .find_map(|line| line.split_once("http://"));
    let address = listening.unwrap().1.trim().to_owned();
    TestServer {
        child,
        address,
        startup_lines,
    }
}

impl TestServer {
    fn request(&self, line: &str, body: &str) -> String {
        self.request_with("", line, body)
    }

    /// A request with a key.
    fn request_with(&self, key: &str, line: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-api-key: {key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl TestServer {
    /// Asks it to end, and waits until it has.
    fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(pid).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

/// What another verb prints as JSON, about the same data.
fn printed(folder: &Path, args: &[&str]) -> serde_json::Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
    command.env_clear().current_dir(folder).args(args);
    let output = command.arg("--json").arg("--data-dir").arg(folder).output();
    serde_json::from_slice(&output.unwrap().stdout).unwrap()
}

/// Stores the usage of two requests, of which one had skills.
async fn record_skill_costs(folder: &Path) {
    let part = |input_tokens, cache_read_tokens, output_tokens, cost_nanos| PartCost {
        input_tokens,
        cache_read_tokens,
        output_tokens,
        cost_nanos,
        ..PartCost::default()
    };
    let forms = SkillCost {
        runs: RunCounts {
            offered: 1,
            loaded: 1,
            used: 1,
            in_vain: 0,
        },
        offered: part(4, 0, 0, 100_000_000),
        loaded: part(20, 6, 0, 200_000_000),
        used: part(0, 0, 8, 300_000_000),
        sandbox_millis: 40,
        ..SkillCost::new("forms", Some("skill_1"))
    };
    let letters = SkillCost {
        runs: RunCounts {
            offered: 1,
            loaded: 1,
            used: 0,
            in_vain: 1,
        },
        offered: part(3, 0, 0, 50_000_000),
        loaded: part(9, 0, 0, 10_000_000),
        ..SkillCost::new("letters", None)
    };
    let row = |skills| UsageRow {
        tenant: TenantId::default_tenant(),
        key: None,
        model: "m".to_owned(),
        provider: "acme".to_owned(),
        upstream_model: "m".to_owned(),
        dialect: "chat".to_owned(),
        status: 200,
        requests: 1,
        unpriced: 0,
        estimated: 0,
        input_tokens: 100,
        output_tokens: 50,
        cache_read_tokens: 60,
        cache_write_tokens: 20,
        cost_nanos: 1_000_000_000,
        millis: 5,
        sandbox_millis: 70,
        skills,
    };
    let store = Store::open(&StoreConfig::local(folder)).await.unwrap();
    let rows = [row(vec![forms, letters]), row(Vec::new())];
    store.record_usage(&rows).await.unwrap();
    store.close().await;
}

const CHAT: &str = r#"{"model":"demo","messages":[{"role":"user","content":"Hello"}]}"#;
const MESSAGES: &str = r#"{"model":"demo","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hello"}]}"#;
const RESPONSES: &str = r#"{"model":"demo","input":"Hello"}"#;

#[test]
fn the_example_serves_a_scripted_model_in_three_dialects() {
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateway");
    let mut command = prowess(folder.path());
    command.arg("--config").arg(example.join("prowess.toml"));
    let server = serve(command);
    for (path, body) in [
        ("/v1/chat/completions", CHAT),
        ("/v1/messages", MESSAGES),
        ("/v1/responses", RESPONSES),
        ("/openai/v1/chat/completions", CHAT),
        ("/anthropic/v1/messages", MESSAGES),
    ] {
        let answer = server.request(&format!("POST {path}"), body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        assert!(answer.contains("You said: Hello"), "{path}: {answer}");
    }
    let list = server.request("GET /v1/models", "");
    assert!(list.contains(r#""id":"demo""#), "{list}");
}

#[test]
fn without_configuration_a_models_name_shows_which_key_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(prowess(folder.path()));
    let startup_lines = server.startup_lines.join("\n");
    assert!(
        startup_lines.contains("no provider keys"),
        "{startup_lines}"
    );
    let body = CHAT.replace("demo", "openai/gpt-5");
    let answer = server.request("POST /v1/chat/completions", &body);
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(answer.contains("set OPENAI_API_KEY"), "{answer}");
}

#[test]
fn without_configuration_the_well_known_variables_are_enough() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = prowess(folder.path());
    command
        .env("OPENAI_API_KEY", "sk-never-sent")
        .env("OLLAMA_HOST", listener.local_addr().unwrap().to_string());
    let server = serve(command);
    let startup_lines = server.startup_lines.join("\n");
    assert!(
        startup_lines.contains("models from: openai"),
        "{startup_lines}"
    );

    let upstream = std::thread::spawn(move || answer_once(&listener));
    let body = MESSAGES.replace("demo", "ollama/llama");
    let body = body.replace("\"stream\":true,", "");
    let answer = server.request("POST /v1/messages", &body);
    assert!(answer.contains("Hi from afar"), "{answer}");
    let sent = upstream.join().unwrap();
    assert!(sent.starts_with("POST /v1/chat/completions"), "{sent}");
}

/// Answers one request like a server compatible with OpenAI's; gives what it was sent.
fn answer_once(listener: &TcpListener) -> String {
    const ANSWER: &str = r#"{"id":"c1","object":"chat.completion","created":1,"model":"llama","choices":[{"index":0,"message":{"role":"assistant","content":"Hi from afar"},"finish_reason":"stop"}]}"#;
    let (mut stream, _) = listener.accept().unwrap();
    let mut sent = String::new();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    while !sent.ends_with("\r\n\r\n") {
        let start = sent.len();
        reader.read_line(&mut sent).unwrap();
        let line = sent.get(start..).unwrap().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length";
    write!(stream, "{head}: {}\r\n\r\n{ANSWER}", ANSWER.len()).unwrap();
    sent
}

#[test]
fn a_configuration_that_makes_no_sense_stops_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[models]]\nname = \"a\"\nprovider = \"nobody\"\n";
    std::fs::write(folder.path().join("prowess.toml"), text).unwrap();
    let output = prowess(folder.path()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(stderr.contains("models.a.provider"), "{stderr}");
    assert!(stderr.contains("nobody"), "{stderr}");
}

#[test]
fn a_key_is_held_to_its_limits_and_what_it_used_is_there_after_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let make = ["keys", "create", "ci", "--model", "de*", "--rpm", "3"];
    let made = printed(folder.path(), &make);
    let key = made["key"].as_str().unwrap();
    let listed = &printed(folder.path(), &["keys", "list"])[0];
    assert_eq!(listed["models"], serde_json::json!(["de*"]));
    assert_eq!(listed["auto"], serde_json::Value::Null);
    for (argument, auto) in [("--auto", true), ("--auto=false", false)] {
        let made = printed(folder.path(), &["keys", "create", "a", argument]);
        assert_eq!(made["auto"], auto);
        let listed = &printed(folder.path(), &["keys", "list"])[0];
        assert_eq!(listed["auto"], auto);
    }
    assert_eq!(listed["requests_per_minute"], 3);

    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateway");
    let mut command = prowess(folder.path());
    command.arg("--config").arg(example.join("prowess.toml"));
    let server = serve(command);
    let ask = |body: &str| server.request_with(key, "POST /v1/chat/completions", body);
    // A model that the key may not use counts as well: names cost nothing to make up.
    let other = ask(&CHAT.replace("demo", "other"));
    assert!(other.starts_with("HTTP/1.1 403"), "{other}");
    for status in [200, 200, 429] {
        let answer = ask(CHAT);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
    }
    server.stop();
    let used = printed(folder.path(), &["usage", "--by", "key", "--since", "1h"]);
    assert_eq!(used[0]["key"], made["id"]);
    assert_eq!(used[0]["requests"], 4);
    assert_eq!(used[0]["errors"], 2);
    assert!(used[0]["output_tokens"].as_u64() > Some(0), "{used}");
}

#[test]
fn usage_by_skill_of_the_own_store_has_the_parts_of_each_skill_and_what_no_skill_took() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(record_skill_costs(folder.path()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
    command.env_clear().current_dir(folder.path());
    command.args(["usage", "--by", "skill", "--data-dir"]);
    let output = command.arg(folder.path()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("2 requests since "), "{errors}");
    let shown = String::from_utf8(output.stdout).unwrap();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = shown.lines().map(words).collect();
    assert_eq!(
        lines,
        [
            "SKILL RUNS OFFERED LOADED USED OTHER COST SANDBOX",
            "forms 1 4+0 26+0 0+8 - 0.6000 40 ms",
            "letters 1 3+0 9+0 0+0 - 0.0600 0 ms",
            "(no skill) - - - - 318+92 1.3400 100 ms",
        ]
    );

    let listed = printed(folder.path(), &["usage", "--by", "skill"]);
    let part = |input: u64, cached: u64, output: u64, cost: f64| {
        json!({
            "input_tokens": input, "output_tokens": output, "cache_read_tokens": cached,
            "cache_write_tokens": 0, "cost": cost,
        })
    };
    let expected = json!([
        {
            "skill": "forms", "skill_id": "skill_1", "runs_offered": 1, "runs_loaded": 1,
            "runs_used": 1, "runs_loaded_in_vain": 0, "sandbox_ms": 40,
            "offered": part(4, 0, 0, 0.1),
            "loaded": part(20, 6, 0, 0.2),
            "used": part(0, 0, 8, 0.3),
        },
        {
            "skill": "letters", "skill_id": null, "runs_offered": 1, "runs_loaded": 1,
            "runs_used": 0, "runs_loaded_in_vain": 1, "sandbox_ms": 0,
            "offered": part(3, 0, 0, 0.05),
            "loaded": part(9, 0, 0, 0.01),
            "used": part(0, 0, 0, 0.0),
        },
        {
            "skill": null, "input_tokens": 164, "output_tokens": 92, "cache_read_tokens": 114,
            "cache_write_tokens": 40, "cost": 1.34, "sandbox_ms": 100,
        },
    ]);
    assert_eq!(listed, expected);

    // Another tenant has nothing of it.
    let other = ["usage", "--by", "skill", "--tenant", "other"];
    let listed = printed(folder.path(), &other);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed[0]["skill"], serde_json::Value::Null);
    assert_eq!(listed[0]["input_tokens"], 0);
}
