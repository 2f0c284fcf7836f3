//! Webhooks of the real server, received by the program on the page about them, which
//! verifies them with OpenAI's SDK.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod markdown;
mod scripted;
mod server;

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use installed::installed;
use markdown::{blocks, read_page};
use prowess_store::{NewJournalRun, NewWebhook, Store, StoreConfig, TenantId};
use prowess_testkit::bytecode::keep_bytecode;
use scripted::{scripted_config, start_scripted};
use server::{MASTER, TestServer};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER_SECRET: &str = "whsec_bm90IHRoZSBzZWNyZXQgb2YgdGhlIHJlY2VpdmVy";

/// The only block of the page in a language.
fn block(language: &str) -> String {
    let page = read_page("docs/webhooks.md");
    let mut found = blocks(&page);
    found.retain(|block| block.language == language);
    assert_eq!(found.len(), 1);
    found.remove(0).text
}

/// The receiver on the page, on a free port.
struct Receiver {
    child: Child,
    output: BufReader<ChildStdout>,
    port: u16,
}

impl Receiver {
    fn start() -> Receiver {
        let program = block("python").replace("8000", "0");
        let mut python = Command::new(installed("openai-3.49").join("bin/python"));
        let mut child = keep_bytecode(&mut python)
            .args(["-c", &program])
            .env("OPENAI_WEBHOOK_SECRET", SECRET)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut receiver = Receiver {
            child,
            output,
            port: 0,
        };
        let line = receiver.line();
        let port = line.strip_prefix("listening on port ").unwrap();
        receiver.port = port.parse().unwrap();
        receiver
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends runs with webhooks to these URLs, by cancelling them before a server claims them.
#[tokio::main(flavor = "current_thread")]
async fn end_runs(config: &StoreConfig, urls: &[&str], body: &str) {
    let store = Store::open(config).await.unwrap();
    let tenant = TenantId::default_tenant();
    for url in urls {
        let id = Store::new_run_id().unwrap();
        let new = NewJournalRun {
            id: &id,
            api_key: None,
            dialect: "responses",
            model: "m",
            kept: true,
            format: 1,
            idempotency_key: None,
            request_digest: "",
            request: b"",
        };
        store.enqueue_run(&tenant, &new).await.unwrap();
        let webhook = NewWebhook { url, body };
        store.cancel_run(&tenant, &id, &[webhook]).await.unwrap();
    }
}

#[test]
fn openais_sdk_accepts_webhooks_with_its_secret_and_no_others() {
    let mut receiver = Receiver::start();
    let url = |path: &str| format!("http://127.0.0.1:{}/{path}", receiver.port);
    let (right, wrong) = (url("right"), url("wrong"));
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("prowess.toml");
    let text = format!(
        "[webhooks]\nallow_private = true\nmax_attempts = 1\n\
         [[webhooks.endpoints]]\nurl = \"{wrong}\"\nsecret = \"{OTHER_SECRET}\"\n\
         [[webhooks.endpoints]]\nurl = \"{right}\"\nsecret = \"env:WEBHOOK_SECRET\"\n"
    );
    std::fs::write(&config, text).unwrap();
    let variables = [
        ("PROWESS_CONFIG", config.to_str().unwrap()),
        ("WEBHOOK_SECRET", SECRET),
    ];
    let mut server = TestServer::start(&variables);
    let store = StoreConfig::local(server.folder().join("data"));
    let body = block("json");
    end_runs(&store, &[&wrong, &right], &body);
    let event: serde_json::Value = serde_json::from_str(&body).unwrap();
    let expected = ["/type", "/data/id"].map(|field| event.pointer(field).unwrap().as_str());
    assert_eq!(receiver.line(), expected.map(Option::unwrap).join(" "));
    // It was given up after its only attempt; the log has no secret and no path of the URL.
    let log = server.log();
    let given_up = log.lines().filter(|line| line.contains("given up"));
    let given_up: Vec<&str> = given_up.collect();
    assert_eq!(given_up.len(), 1, "{log}");
    let expected = ["whd_", "127.0.0.1", "the receiver responded with 400"];
    for part in expected {
        assert!(given_up.concat().contains(part), "{part}: {log}");
    }
    for hidden in ["whsec", "MfKQ", "bm90", "/wrong"] {
        assert!(!log.contains(hidden), "{hidden}: {log}");
    }
}

/// Sends a background response to the server, and returns its id.
#[tokio::main(flavor = "current_thread")]
async fn begin_response(url: &str) -> String {
    let request = reqwest::Client::new().post(format!("{url}/v1/responses"));
    let body = serde_json::json!({"model": "stage/m", "input": "hi", "background": true});
    let response = request.bearer_auth(MASTER).body(body.to_string());
    let response = response.send().await.unwrap().error_for_status().unwrap();
    let response: serde_json::Value = response.json().await.unwrap();
    let id = response.get("id").and_then(serde_json::Value::as_str);
    id.unwrap().to_owned()
}

#[test]
fn the_end_of_a_background_response_is_announced() {
    let mut receiver = Receiver::start();
    let more = format!(
        "[webhooks]\nallow_private = true\n\
         [[webhooks.endpoints]]\nurl = 'http://127.0.0.1:{}/'\nsecret = '{SECRET}'\n\
         events = ['response.completed']\n",
        receiver.port
    );
    let config = scripted_config("[[step]]\ntext = 'Hi.'\n", &more);
    let server = start_scripted(&config, &[]);
    let id = begin_response(server.url());
    assert_eq!(receiver.line(), format!("response.completed {id}"));
}
