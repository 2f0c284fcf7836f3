//! The real server with its real sandbox, with mock models of five vendors that send
//! prepared responses and record requests.

#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test binary uses what it needs of this module"
)]

pub(crate) mod client;
pub(crate) mod upstream_request;
pub(crate) mod vendor;

use std::fmt::Write;
use std::path::Path;

use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::{MockResponse, MockUpstream};
use prowess_wire::ClientDialect;
use reqwest::Client as Http;
use reqwest::multipart::{Form, Part};
use serde_json::Value;
use tempfile::TempDir;

use super::server::{MASTER, TestServer};
use upstream_request::UpstreamRequest;
use vendor::Vendor;

/// A server and its upstreams. Each upstream has all dialects and serves one conversation at
/// a time; several upstreams are for concurrent conversations.
pub(crate) struct TestGateway {
    pub(crate) server: TestServer,
    pub(crate) http: Http,
    pub(crate) upstreams: Vec<MockUpstream>,
    config: TempDir,
}

impl TestGateway {
    pub(crate) async fn open(upstream_count: usize, more: &str) -> TestGateway {
        let mut upstreams = Vec::new();
        let mut text = format!("{more}\n");
        for index in 0..upstream_count {
            let upstream = MockUpstream::start().await;
            for vendor in Vendor::ALL {
                let (kind, url) = (vendor.kind(), upstream.url());
                let kind = kind.replace("{url}", url);
                let name = vendor.name();
                writeln!(text, "[providers.{name}-{index}]\n{kind}\napi_key = 'k'").unwrap();
                writeln!(text, "attempts = 1").unwrap();
            }
            upstreams.push(upstream);
        }
        let config = tempfile::tempdir().unwrap();
        std::fs::write(config.path().join("prowess.toml"), text).unwrap();
        TestGateway {
            server: start(config.path()),
            http: Http::new(),
            upstreams,
            config,
        }
    }

    /// A conversation: the model sends these turns; returns the requests it received.
    pub(crate) async fn talk(
        &self,
        client: ClientDialect,
        vendor: Vendor,
        body: &Value,
        turns: impl IntoIterator<Item = MockResponse>,
    ) -> (GatewayResponse, Vec<UpstreamRequest>) {
        let upstream = &self.upstreams[0];
        for turn in turns {
            upstream.respond(turn);
        }
        let response = self.post(client::path(client), body).await;
        let requests = upstream.requests().await;
        let sent = requests
            .iter()
            .map(|request| UpstreamRequest::read(vendor, request));
        (response, sent.collect())
    }

    /// Another process over the same data.
    pub(crate) fn sibling(&self) -> TestServer {
        self.sibling_with("")
    }

    /// Another process over the same data, with this configuration beside.
    pub(crate) fn sibling_with(&self, more: &str) -> TestServer {
        let data = self.server.folder().join("data");
        let ours = std::fs::read_to_string(self.config.path().join("prowess.toml"));
        let config = self.config.path().join("sibling.toml");
        std::fs::write(&config, format!("{more}\n{}", ours.unwrap())).unwrap();
        TestServer::start(&[
            ("PROWESS_CONFIG", config.to_str().unwrap()),
            ("PROWESS_DATA_DIR", data.to_str().unwrap()),
        ])
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> GatewayResponse {
        let answer = self.begin(path, body).await;
        let status = answer.status().as_u16();
        let run = answer.headers().get("prowess-run");
        let run = run.map(|id| id.to_str().unwrap().to_owned());
        let text = answer.text().await.unwrap();
        GatewayResponse { status, run, text }
    }

    /// The head of a response; its body is read on demand.
    pub(crate) async fn begin(&self, path: &str, body: &Value) -> reqwest::Response {
        let url = format!("{}{path}", self.server.url());
        let mut request = self.http.post(url).bearer_auth(MASTER);
        request = request.header("content-type", "application/json");
        if path.starts_with("/v1/messages") {
            request = request.header("anthropic-version", "2023-06-01");
        }
        request.body(body.to_string()).send().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> GatewayResponse {
        let url = format!("{}{path}", self.server.url());
        let answer = self.http.get(url).bearer_auth(MASTER).send().await.unwrap();
        GatewayResponse {
            status: answer.status().as_u16(),
            run: None,
            text: answer.text().await.unwrap(),
        }
    }

    pub(crate) async fn delete(&self, path: &str) -> u16 {
        let url = format!("{}{path}", self.server.url());
        let request = self.http.delete(url).bearer_auth(MASTER);
        request.send().await.unwrap().status().as_u16()
    }

    /// Stores a skill and returns its id.
    pub(crate) async fn store(&self, skill: &SkillFixture) -> String {
        let files = skill.files().into_iter();
        let folder = skill.name();
        let files = files.map(|(path, bytes, _)| (format!("{folder}/{path}"), bytes.to_vec()));
        let made = self.upload("/v1/skills", files.collect()).await;
        assert_eq!(made.status, 200, "{}", made.text);
        made.json()["id"].as_str().unwrap().to_owned()
    }

    /// Uploads files as a skill or a version of one.
    pub(crate) async fn upload(
        &self,
        path: &str,
        files: Vec<(String, Vec<u8>)>,
    ) -> GatewayResponse {
        let form = files.into_iter().fold(Form::new(), |form, (path, bytes)| {
            form.part("files[]", Part::bytes(bytes).file_name(path))
        });
        let url = format!("{}{path}", self.server.url());
        let request = self.http.post(url).bearer_auth(MASTER).multipart(form);
        let answer = request.send().await.unwrap();
        GatewayResponse {
            status: answer.status().as_u16(),
            run: None,
            text: answer.text().await.unwrap(),
        }
    }

    /// Uploads a file and returns its id.
    pub(crate) async fn upload_file(&self, name: &str, text: &str) -> String {
        let part = Part::text(text.to_owned()).file_name(name.to_owned());
        let form = Form::new().text("purpose", "user_data").part("file", part);
        let url = format!("{}/v1/files", self.server.url());
        let request = self.http.post(url).bearer_auth(MASTER).multipart(form);
        let made: Value = request.send().await.unwrap().json().await.unwrap();
        made["id"].as_str().unwrap().to_owned()
    }

    /// The record of a run, which is written after its response.
    pub(crate) async fn record(&self, run: &str) -> Value {
        loop {
            let read = self.get(&format!("/v1/runs/{run}")).await;
            if read.status == 200 && read.json()["status"] != "running" {
                return read.json();
            }
            tokio::task::yield_now().await;
        }
    }
}

/// A response of the server.
#[derive(Debug)]
pub(crate) struct GatewayResponse {
    pub(crate) status: u16,
    pub(crate) run: Option<String>,
    pub(crate) text: String,
}

impl GatewayResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    /// The first word in quotes that begins like this and has this length.
    pub(crate) fn id(&self, prefix: &str, length: usize) -> &str {
        let mut words = self.text.split('"');
        let id = words.find(|word| word.starts_with(prefix) && word.len() == length);
        id.unwrap_or(&self.text)
    }

    /// The id of a file it names.
    pub(crate) fn file(&self) -> &str {
        self.id("file_", 29)
    }
}

fn start(config: &Path) -> TestServer {
    let config = config.join("prowess.toml");
    TestServer::start(&[("PROWESS_CONFIG", config.to_str().unwrap())])
}

/// Runs a test that waits.
pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(work)
}
