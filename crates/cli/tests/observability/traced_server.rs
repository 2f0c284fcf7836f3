//! A server with skills that sends its traces, and requests whose spans are of every sort.

use prowess_testkit::upstream::{MockResponse, MockUpstream};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::span_relay::SpanRelay;
use crate::server::{MASTER, TestServer};
use crate::{SCRIPT, chat, messages, responses, upload_skill};

/// A span of the client.
pub(super) const CLIENT_SPAN: &str = "b7ad6b7169203331";
const CLIENT_TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

pub(super) struct TracedServer {
    server: TestServer,
    http: Client,
    vendor: MockUpstream,
    _config: TempDir,
}

impl TracedServer {
    /// With these settings of `[telemetry]` besides the address.
    pub(super) async fn start(relay: &SpanRelay, settings: &str) -> TracedServer {
        let vendor = MockUpstream::start().await;
        let config = tempfile::tempdir().unwrap();
        std::fs::write(config.path().join("script.toml"), SCRIPT).unwrap();
        let path = config.path().join("prowess.toml");
        let text = format!(
            "[telemetry]\notlp_endpoint = '{}'\nservice = 'gate'\n{settings}\n\
             [providers.stage]\nkind = 'scripted'\nscript = 'script.toml'\n\
             [providers.vendor]\nkind = 'anthropic'\nbase_url = '{}'\napi_key = 'k'\n",
            relay.url(),
            vendor.url()
        );
        std::fs::write(&path, text).unwrap();
        TracedServer {
            server: TestServer::start(&[("PROWESS_CONFIG", path.to_str().unwrap())]),
            http: Client::new(),
            vendor,
            _config: config,
        }
    }

    /// Runs in every dialect with tools, commands and a skill; a command that fails; a call of a
    /// model that is repeated; a request that its provider refuses.
    pub(super) async fn serve_every_sort(&self) {
        let skill = upload_skill(&self.http, self.server.url()).await;
        let traced = self
            .post("/v1/messages", &messages(&skill, "make it", true))
            .header("traceparent", format!("00-{CLIENT_TRACE}-{CLIENT_SPAN}-01"))
            .header("tracestate", "vendor=1");
        assert_eq!(status(traced).await, 200);
        let made = chat(&skill, "make it", false);
        assert_eq!(status(self.post("/v1/chat/completions", &made)).await, 200);
        let made = responses(&skill, "make it", true);
        assert_eq!(status(self.post("/v1/responses", &made)).await, 200);
        let failing = messages(&skill, "both", false);
        assert_eq!(status(self.post("/v1/messages", &failing)).await, 200);

        let failed = r#"{"type":"error","error":{"type":"api_error","message":"no"}}"#;
        self.vendor
            .respond(MockResponse::json(500, failed))
            .respond(answer());
        let mut repeated = messages(&skill, "go", false);
        repeated["model"] = "vendor/m1".into();
        assert_eq!(status(self.post("/v1/messages", &repeated)).await, 200);

        let refused = r#"{"type":"error","error":{"type":"invalid_request_error","message":"no"}}"#;
        self.vendor.respond(MockResponse::json(400, refused));
        assert_eq!(self.send_hello("vendor/m1").await, 400);
        assert_eq!(self.send_hello("stage/m").await, 200);
    }

    /// Sends a request without skills; returns the status.
    pub(super) async fn send_hello(&self, model: &str) -> u16 {
        let body = json!({ "model": model, "max_tokens": 10,
            "messages": [{ "role": "user", "content": "hello" }] });
        status(self.post("/v1/messages", &body)).await
    }

    /// Stops it, which sends the last spans; returns its log.
    pub(super) fn stop(mut self) -> String {
        self.server.log()
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        let url = format!("{}{path}", self.server.url());
        let request = self.http.post(url).bearer_auth(MASTER);
        request
            .header("anthropic-version", "2023-06-01")
            .header("content-type", "application/json")
            .body(body.to_string())
    }
}

/// Reads the whole response.
async fn status(request: RequestBuilder) -> u16 {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    response.text().await.unwrap();
    status
}

/// A response of the vendor.
fn answer() -> MockResponse {
    let body = json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "m1",
        "content": [{ "type": "text", "text": "Done." }], "stop_reason": "end_turn",
        "stop_sequence": null, "usage": { "input_tokens": 3, "output_tokens": 2 } });
    MockResponse::json(200, &body.to_string())
}
