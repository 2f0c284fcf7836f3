//! A running server reads its configuration again: at SIGHUP, at the admin route, and at
//! `prowess config reload`.

mod slow_stream;
mod storm;

use std::process::Output;

use prowess_testkit::upstream::{MockResponse, MockUpstream};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{MASTER, TestServer, prowess};

/// Attempts to see what a signal does.
const MAX_POLLS: usize = 100_000;

/// A server, and the file that it reads.
struct ReloadedServer {
    server: TestServer,
    folder: TempDir,
    http: reqwest::Client,
}

/// What the server has counted.
#[derive(Debug, PartialEq)]
struct ReloadCounts {
    applied: u32,
    /// Invalid, and in need of a restart.
    refused: [u32; 2],
    generation: u32,
}

impl ReloadedServer {
    fn start(config: &str) -> ReloadedServer {
        ReloadedServer::start_with(&[], config)
    }

    /// With these arguments of `prowess serve`.
    fn start_with(arguments: &[&str], config: &str) -> ReloadedServer {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prowess.toml");
        std::fs::write(&path, config).unwrap();
        ReloadedServer {
            server: TestServer::start_with(
                arguments,
                &[("PROWESS_CONFIG", path.to_str().unwrap())],
            ),
            folder,
            http: reqwest::Client::new(),
        }
    }

    /// Replaces the file whole.
    fn write_config(&self, text: &str) {
        let new = self.folder.path().join("new.toml");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.folder.path().join("prowess.toml")).unwrap();
    }

    fn hang_up(&self) {
        let pid = Pid::from_raw(i32::try_from(self.server.pid()).unwrap());
        kill_process(pid.unwrap(), Signal::HUP).unwrap();
    }

    /// `POST /v1/admin/reload`
    async fn reload(&self) -> (u16, Value) {
        let url = format!("{}/v1/admin/reload", self.server.url());
        let request = self.http.post(url).bearer_auth(MASTER);
        let response = request.send().await.unwrap();
        (
            response.status().as_u16(),
            response.json().await.unwrap_or_default(),
        )
    }

    async fn get(&self, path: &str) -> String {
        let request = self.http.get(format!("{}{path}", self.server.url()));
        let response = request.bearer_auth(MASTER).send().await.unwrap();
        response.text().await.unwrap()
    }

    /// How strong the sandbox is, once that is known.
    async fn sandbox_level(&self) -> String {
        loop {
            let health: Value = serde_json::from_str(&self.get("/healthz").await).unwrap();
            match health["sandbox"].as_str() {
                Some("probing") => tokio::task::yield_now().await,
                level => return level.unwrap().to_owned(),
            }
        }
    }

    async fn reload_counts(&self) -> ReloadCounts {
        let metrics = self.get("/metrics").await;
        let value = |start: &str| {
            let mut lines = metrics.lines();
            let number = lines.find_map(|line| line.strip_prefix(start)?.strip_prefix(' '));
            number.map_or(0, |number| number.parse().unwrap())
        };
        let count = |result: &str| {
            value(&format!(
                "prowess_config_reloads_total{{result=\"{result}\"}}"
            ))
        };
        ReloadCounts {
            applied: count("applied"),
            refused: [count("invalid"), count("needs_restart")],
            generation: value("prowess_config_generation"),
        }
    }

    /// Waits until so many reloads are over.
    async fn wait_for_reloads(&self, expected: u32) {
        for _ in 0..MAX_POLLS {
            let counts = self.reload_counts().await;
            if counts.applied + counts.refused.iter().sum::<u32>() == expected {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("no reload after a signal");
    }

    /// The command line, against this server.
    fn command(&self, args: &[&str]) -> Output {
        let mut command = prowess(self.folder.path());
        command
            .args(["config", "reload", "--server", self.server.url()])
            .args(args)
            .env("PROWESS_API_KEY", MASTER);
        command.output().unwrap()
    }
}

/// A configuration with one model of this name.
fn one_model(name: &str, upstream: &str) -> String {
    format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"{upstream}/v1\"\napi_key = \"k\"\n\
         [[models]]\nname = \"{name}\"\nprovider = \"up\"\n"
    )
}

fn stdout(output: &Output) -> String {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_configuration_is_used_and_shown() {
    let upstream = MockUpstream::start().await;
    let server = ReloadedServer::start(&one_model("old", upstream.url()));
    let models = async || {
        let list: Value = serde_json::from_str(&server.get("/v1/models").await).unwrap();
        list["data"][0]["id"].clone()
    };
    assert_eq!(models().await, "old");
    server.write_config(&one_model("new", upstream.url()));
    assert_eq!(models().await, "old");
    let (status, answer) = server.reload().await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["type"], "configuration_reload");
    assert_eq!(answer["generation"], 2);
    assert_eq!(
        answer["changed"],
        json!([
            "models.new.name",
            "models.new.provider",
            "models.old.name",
            "models.old.provider"
        ])
    );
    assert_eq!(models().await, "new");
    let shown: Value = serde_json::from_str(&server.get("/v1/admin/configuration").await).unwrap();
    assert_eq!(shown["generation"], 2);
    assert_eq!(shown["read_at"], answer["read_at"]);
    assert_eq!(shown["settings"]["models"][0]["name"], "new");
    let log: Value = serde_json::from_str(&server.get("/v1/admin/audit").await).unwrap();
    assert_eq!(log["data"][0]["action"], "configuration.reload");
    assert_eq!(log["data"][0]["outcome"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_prints_what_changed_or_why_nothing_did() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::json(500, "{}"));
    let server = ReloadedServer::start(&one_model("old", upstream.url()));
    let show = |text: String| {
        let folder = server.folder.path().display().to_string();
        text.replace(&folder, "FOLDER")
    };
    let config = one_model("old", upstream.url()).replace("\"k\"", "\"canary\"");
    server.write_config(&format!("{config}[batches]\ntenant_batches = 3\n"));
    insta::assert_snapshot!(show(stdout(&server.command(&[]))), @"
    generation 2, from FOLDER/prowess.toml: 2 settings changed
      batches.tenant_batches
      providers.up.api_key
    ");
    server.write_config(&config);
    let printed: Value = serde_json::from_str(&stdout(&server.command(&["--json"]))).unwrap();
    assert_eq!(printed["changed"], json!(["batches.tenant_batches"]));
    assert_eq!(printed["generation"], 3);
    server.write_config(&format!("{config}[batches]\ntenant_batchse = 3\n[sever]\n"));
    let refused = server.command(&[]);
    assert!(!refused.status.success());
    let why = show(String::from_utf8(refused.stderr).unwrap());
    assert!(
        why.contains("`batches.tenant_batchse` is not a setting") && why.contains("`[sever]`"),
        "{why}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_restart_is_refused_key_by_key() {
    let upstream = MockUpstream::start().await;
    let config = one_model("m", upstream.url());
    let server = ReloadedServer::start(&config);
    server.write_config(&format!(
        "{}[server]\nconnections = 9\nconsole = false\nuploads = 3\n\
         [store]\ntenant_files = 7\n[sandbox]\nwarm = 0\nprocesses = 9\n[telemetry]\n\
         service = \"other\"\n",
        config.replace("\"m\"", "\"n\"")
    ));
    let (status, refused) = server.reload().await;
    assert_eq!(status, 409, "{refused}");
    assert_eq!(refused["error"]["code"], "restart-needed");
    let message = refused["error"]["message"].as_str().unwrap();
    for key in [
        "server.connections",
        "server.console",
        "store.tenant_files",
        "sandbox.warm",
        "telemetry.service",
    ] {
        assert!(message.contains(key), "{key}: {message}");
    }
    for key in ["uploads", "models", "listen", "data_dir", "master_key"] {
        assert!(!message.contains(key), "{key}: {message}");
    }
    let models = server.get("/v1/models").await;
    assert!(
        models.contains("\"m\"") && !models.contains("\"n\""),
        "{models}"
    );
    // What a run may take is not the sandbox's own.
    server.write_config(&format!(
        "{config}[sandbox]\nprocesses = 9\n[server]\nuploads = 3\n"
    ));
    let (status, answer) = server.reload().await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["changed"],
        json!(["sandbox.processes", "server.uploads"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reduced_sandbox_that_the_command_line_accepts_stays_accepted() {
    // Without such a group, this host has no control groups for the sandbox.
    let config = "[sandbox]\ncgroup = \"no-such-group-of-prowess\"\n";
    let mut refusing = ReloadedServer::start(config);
    assert_eq!(refusing.sandbox_level().await, "refused");
    let log = refusing.server.log();
    let line = log.lines().find(|line| line.contains("no sandbox"));
    let line = line.unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("--reduced on the command line"), "{line}");

    let server = ReloadedServer::start_with(&["--reduced"], config);
    assert_eq!(server.sandbox_level().await, "reduced");
    let shown = async || {
        let shown = server.get("/v1/admin/configuration").await;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        shown["settings"]["sandbox"]["reduced"].clone()
    };
    assert_eq!(shown().await, true);
    // The file may say the same, and no longer say it.
    for (text, changed) in [
        (
            format!("{config}reduced = true\n"),
            json!(["sandbox.reduced"]),
        ),
        (config.to_owned(), json!(["sandbox.reduced"])),
        (config.to_owned(), json!([])),
    ] {
        server.write_config(&text);
        let (status, answer) = server.reload().await;
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["changed"], changed, "{text}");
        assert_eq!(shown().await, true);
    }
    assert_eq!(server.sandbox_level().await, "reduced");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_providers_goes_on() {
    let upstream = MockUpstream::start().await;
    upstream.respond_always(MockResponse::json(400, "{}"));
    let server = ReloadedServer::start(&one_model("m", upstream.url()));
    let request = server
        .http
        .post(format!("{}/v1/chat/completions", server.server.url()));
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
    let response = request.bearer_auth(MASTER).json(&body).send().await;
    assert_eq!(response.unwrap().status(), 400);
    let attempts = async || {
        let list: Value = serde_json::from_str(&server.get("/v1/admin/providers").await).unwrap();
        let providers = list["data"].as_array().unwrap().iter();
        let targets = providers.flat_map(|provider| provider["targets"].as_array().unwrap());
        targets
            .map(|target| target["attempts"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(attempts().await, 1);
    assert_eq!(server.reload().await.0, 200);
    assert_eq!(attempts().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_with_a_wrong_file_logs_every_problem() {
    let upstream = MockUpstream::start().await;
    let mut server = ReloadedServer::start(&one_model("m", upstream.url()));
    server.write_config("[server]\nlissen = \"x\"\n[batches]\ntenant_batchse = 1\n");
    server.hang_up();
    server.wait_for_reloads(1).await;
    let log = server.server.log();
    let line = log
        .lines()
        .find(|line| line.contains("configuration not reloaded"));
    let line = line.unwrap_or_else(|| panic!("{log}"));
    for part in ["ERROR", "server.lissen", "batches.tenant_batchse"] {
        assert!(line.contains(part), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_file_the_defaults_are_read_again() {
    let server = ReloadedServer {
        server: TestServer::start(&[]),
        folder: tempfile::tempdir().unwrap(),
        http: reqwest::Client::new(),
    };
    insta::assert_snapshot!(stdout(&server.command(&[])), @"generation 2, from defaults: there is no prowess.toml: 0 settings changed");
}
