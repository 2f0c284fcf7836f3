//! Requests that touch every metric of a server.

use std::time::{Duration, Instant};

use prowess_testkit::upstream::{MockResponse, MockUpstream};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{MASTER, TestServer};
use crate::{SCRIPT, json_of, messages, upload_skill};

/// A secret of webhooks.
const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const MAX_WAIT: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_millis(50);

/// A server after the traffic, with what it talks to.
pub(super) struct Traffic {
    pub(super) server: TestServer,
    http: Client,
    _collector: MockUpstream,
    _receiver: MockUpstream,
    _upstream: MockUpstream,
    _config: TempDir,
}

impl Traffic {
    /// Starts a server and sends it the requests.
    pub(super) async fn send() -> Traffic {
        let collector = MockUpstream::start().await;
        collector.respond_always(MockResponse::bytes(200, "application/x-protobuf", ""));
        let receiver = MockUpstream::start().await;
        receiver.respond_always(MockResponse::json(200, "{}"));
        let upstream = MockUpstream::start().await;
        let config = tempfile::tempdir().unwrap();
        std::fs::write(config.path().join("script.toml"), SCRIPT).unwrap();
        let path = config.path().join("prowess.toml");
        let text = format!(
            "[telemetry]\notlp_endpoint = '{}'\n\
             [webhooks]\nallow_private = true\n\
             [[webhooks.endpoints]]\nurl = '{}/'\nsecret = '{SECRET}'\n\
             [providers.stage]\nkind = 'scripted'\nscript = 'script.toml'\n\
             [providers.vendor]\nkind = 'openai'\nbase_url = '{}/v1'\napi_key = 'k'\n\
             [[models]]\nname = 'priced'\nprovider = 'vendor'\nmodel = 'm1'\n\
             input_price = 1.0\noutput_price = 2.0\n",
            collector.url(),
            receiver.url(),
            upstream.url(),
        );
        std::fs::write(&path, text).unwrap();
        let traffic = Traffic {
            server: TestServer::start(&[("PROWESS_CONFIG", path.to_str().unwrap())]),
            http: Client::new(),
            _collector: collector,
            _receiver: receiver,
            _upstream: upstream,
            _config: config,
        };
        traffic.call_model().await;
        traffic.run_skills().await;
        traffic.run_batch().await;
        let reload = traffic.post("/v1/admin/reload");
        assert!(reload.send().await.unwrap().status().is_success());
        traffic.wait_for_writers().await;
        traffic
    }

    /// Usage and spans are written a moment after their requests.
    async fn wait_for_writers(&self) {
        let url = format!("{}/metrics", self.server.url());
        let deadline = Instant::now() + MAX_WAIT;
        loop {
            let request = self.http.get(&url).bearer_auth(MASTER);
            let metrics = request.send().await.unwrap().text().await.unwrap();
            let awaited = ["prowess_cost_nanos_total{", "prowess_spans_sent_total "];
            if awaited.iter().all(|name| metrics.contains(name)) {
                return;
            }
            assert!(Instant::now() < deadline, "{metrics}");
            tokio::time::sleep(INTERVAL).await;
        }
    }

    fn post(&self, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.server.url());
        let request = self.http.post(url).bearer_auth(MASTER);
        request
            .header("anthropic-version", "2023-06-01")
            .header("content-type", "application/json")
    }

    /// A model that fails at first, by a provider and with a price.
    async fn call_model(&self) {
        let answer = json!({ "id": "c", "object": "chat.completion", "created": 1, "model": "m1",
            "choices": [{ "index": 0, "finish_reason": "stop",
                "message": { "role": "assistant", "content": "Yes." } }],
            "usage": { "prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11,
                "prompt_tokens_details": { "cached_tokens": 4 } } });
        self._upstream
            .respond(MockResponse::json(500, r#"{"error":{"message":"no"}}"#))
            .respond(MockResponse::json(200, &answer.to_string()));
        let body =
            json!({ "model": "priced", "messages": [{ "role": "user", "content": "Well?" }] });
        let request = self.post("/v1/chat/completions").body(body.to_string());
        let answer = request.send().await.unwrap();
        assert!(
            answer.status().is_success(),
            "{}",
            answer.text().await.unwrap()
        );
    }

    /// Runs with commands: one in the foreground, one that a limit ends, and one that is kept
    /// and whose end is announced.
    async fn run_skills(&self) {
        let skill = upload_skill(&self.http, self.server.url()).await;
        let body = messages(&skill, "make it", false).to_string();
        for (name, value) in [
            ("prowess-test", "1"),
            ("prowess-max-turns", "1"),
            ("prowess-keep", "true"),
        ] {
            let request = self.post("/v1/messages").body(body.clone());
            let answer = request.header(name, value).send().await.unwrap();
            let (status, text) = (answer.status(), answer.text().await.unwrap());
            assert!(status.is_success(), "{name}: {status} {text}");
        }
        self._receiver.next_request().await;
    }

    async fn run_batch(&self) {
        let params = json!({ "model": "stage/m", "max_tokens": 10,
            "messages": [{ "role": "user", "content": "hello" }] });
        let batch = json!({ "requests": [{ "custom_id": "one", "params": params }] });
        let request = self.post("/v1/messages/batches").body(batch.to_string());
        let made = json_of(request.send().await.unwrap()).await;
        let id = made["id"].as_str().unwrap_or_else(|| panic!("{made}"));
        let url = format!("{}/v1/messages/batches/{id}", self.server.url());
        let deadline = Instant::now() + MAX_WAIT;
        loop {
            let request = self.http.get(&url).bearer_auth(MASTER);
            let request = request.header("anthropic-version", "2023-06-01");
            let batch: Value = json_of(request.send().await.unwrap()).await;
            if batch["processing_status"] == "ended" {
                return;
            }
            assert!(Instant::now() < deadline, "{batch}");
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
