//! Files that Anthropic's own servers made are fetched where they were named: by the
//! tenant whose response named them, and by no other.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod installed;
mod server;
mod vendors;

use std::collections::BTreeMap;

use futures_util::StreamExt;
use installed::{python, succeeded};
use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::{MockResponse, ReceivedRequest};
use prowess_wire::{ClientDialect, Dialect, ReplyContext, StreamWriter, read_response};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use server::{MASTER, TestServer, prowess};
use vendors::client::{new_request, path};
use vendors::vendor::Vendor;
use vendors::{TestGateway, run};

const FILE: &str = "file_011theirs";
const ABOUT: &str = r#"{"type": "file", "id": "file_011theirs", "filename": "deck.pptx",
    "mime_type": "application/vnd.ms-powerpoint", "size_bytes": 9, "downloadable": true,
    "created_at": "2026-01-02T03:04:05Z"}"#;
const DELETED: &str = r#"{"id": "file_011theirs", "type": "file_deleted"}"#;
const NO_FILE: &str = r#"{"type":"error","error":{"type":"not_found_error","message":"File not found: file_011theirs"}}"#;

/// A request that names only Anthropic's own skill.
fn native_skill_request(client: ClientDialect, stream: bool) -> Value {
    let mut request = new_request(client, &Vendor::Anthropic.model(0), stream, &[]);
    let native = json!({"type": "anthropic", "skill_id": "pptx", "version": "latest"});
    let skills = match client {
        ClientDialect::Responses => &mut request["tools"][0]["environment"]["skills"],
        _ => &mut request["container"]["skills"],
    };
    *skills = json!([native]);
    request
}

/// An answer in which Anthropic's servers ran something that made a file.
fn file_answer(stream: bool, file: &str) -> MockResponse {
    let result = json!({"type": "bash_code_execution_result", "stdout": "ok", "stderr": "",
        "return_code": 0,
        "content": [{"type": "bash_code_execution_output", "file_id": file}]});
    model_answer(
        stream,
        &[
            json!({"type": "server_tool_use", "id": "srvtoolu_01A", "name": "bash_code_execution",
                "input": {"command": "python make.py"}}),
            json!({"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_01A",
                "content": result}),
            json!({"type": "text", "text": "Here it is."}),
        ],
    )
}

fn model_answer(stream: bool, content: &[Value]) -> MockResponse {
    let body = json!({"id": "msg_01", "type": "message", "role": "assistant", "model": "m1",
        "content": content, "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 30, "output_tokens": 10},
        "container": {"id": "container_011theirs", "expires_at": "2030-01-01T00:00:00Z",
            "skills": [{"type": "anthropic", "skill_id": "pptx", "version": "20251013"}]}});
    let body = body.to_string();
    if !stream {
        return MockResponse::json(200, &body).in_chunks(61);
    }
    let whole = read_response(Dialect::Messages, body.as_bytes(), &Default::default()).unwrap();
    let mut writer = StreamWriter::new(ClientDialect::Messages, ReplyContext::default());
    let mut out = Vec::new();
    for event in prowess_wire::neutral::replay(whole) {
        writer.write(&event, &mut out);
    }
    MockResponse::sse(std::str::from_utf8(&out).unwrap()).in_chunks(97)
}

/// A key of a tenant.
fn key(server: &TestServer, tenant: &str) -> String {
    let mut command = prowess(server.folder());
    command.args(["keys", "create", "test", "--tenant", tenant, "--json"]);
    let made: Value = serde_json::from_str(&succeeded(&mut command)).unwrap();
    made["key"].as_str().unwrap().to_owned()
}

/// A client with a key.
struct TestClient<'a> {
    gateway: &'a TestGateway,
    url: &'a str,
    key: &'a str,
    /// Whether it uses Anthropic's dialect.
    anthropic: bool,
}

impl TestClient<'_> {
    async fn send(&self, method: Method, path: &str) -> Response {
        let request = self
            .gateway
            .http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(self.key);
        let request = if self.anthropic {
            request.header("anthropic-version", "2023-06-01")
        } else {
            request
        };
        request.send().await.unwrap()
    }

    async fn json(&self, method: Method, path: &str) -> (u16, Value) {
        let answer = self.send(method, path).await;
        let status = answer.status().as_u16();
        (status, answer.json().await.unwrap())
    }

    async fn send_model_request(&self, client: ClientDialect, body: &Value) -> String {
        let url = format!("{}{}", self.url, path(client));
        let request = self.gateway.http.post(url).bearer_auth(self.key);
        let answer = request.body(body.to_string()).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.text().await.unwrap()
    }
}

fn master_client(gateway: &TestGateway, anthropic: bool) -> TestClient<'_> {
    TestClient {
        gateway,
        url: gateway.server.url(),
        key: MASTER,
        anthropic,
    }
}

/// The requests that came after the one to the model, by what they are.
async fn sent(gateway: &TestGateway) -> BTreeMap<String, ReceivedRequest> {
    let requests = gateway.upstreams[0].requests().await.into_iter();
    let named = requests.map(|sent| (format!("{} {}", sent.method, sent.path), sent));
    named.collect()
}

#[test]
fn what_a_passed_answer_names_is_fetched_and_deleted() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        for stream in [false, true] {
            let client = master_client(&gateway, true);
            gateway.upstreams[0].respond(file_answer(stream, FILE));
            let request = native_skill_request(ClientDialect::Messages, stream);
            assert!(
                client
                    .send_model_request(ClientDialect::Messages, &request)
                    .await
                    .contains(FILE)
            );

            let bytes = vec![9; 300_000];
            let download = MockResponse::bytes(200, "application/vnd.ms-powerpoint", bytes.clone());
            gateway.upstreams[0]
                .respond(MockResponse::json(200, ABOUT))
                .respond(download)
                .respond(MockResponse::json(404, NO_FILE))
                .respond(MockResponse::json(200, DELETED));
            let (status, about) = client.json(Method::GET, "/v1/files/file_011theirs").await;
            assert_eq!((status, &about["filename"]), (200, &json!("deck.pptx")));
            let content = "/v1/files/file_011theirs/content";
            let got = client.send(Method::GET, content).await;
            assert_eq!(got.headers()["x-content-type-options"], "nosniff");
            assert_eq!(
                got.headers()["content-type"],
                "application/vnd.ms-powerpoint"
            );
            assert_eq!(got.bytes().await.unwrap(), bytes);
            let refused = client.send(Method::GET, content).await;
            assert_eq!(refused.status(), 404);
            assert_eq!(refused.text().await.unwrap(), NO_FILE, "as it was told");
            let (status, gone) = client
                .json(Method::DELETE, "/v1/files/file_011theirs")
                .await;
            assert_eq!((status, &gone["type"]), (200, &json!("file_deleted")));

            let sent = sent(&gateway).await;
            for line in [
                "GET /v1/files/file_011theirs",
                "GET /v1/files/file_011theirs/content",
                "DELETE /v1/files/file_011theirs",
            ] {
                let sent = &sent[line];
                assert_eq!(sent.header("x-api-key"), Some("k"), "{line}");
                assert_eq!(sent.header("authorization"), None, "{line}");
                assert_eq!(sent.header("anthropic-beta"), Some("files-api-2025-04-14"));
                assert_eq!(sent.header("anthropic-version"), Some("2023-06-01"));
            }
            let (status, error) = client.json(Method::GET, "/v1/files/file_011theirs").await;
            assert_eq!((status, &error["type"]), (404, &json!("error")));
            assert!(
                gateway.upstreams[0].requests().await.is_empty(),
                "it is forgotten"
            );
        }
    });
}

#[test]
fn an_answer_that_is_scanned_passes_byte_for_byte() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        for stream in [false, true] {
            let mut request = native_skill_request(ClientDialect::Messages, stream);
            gateway.upstreams[0].respond(file_answer(stream, FILE));
            let seen = gateway.post("/v1/messages", &request).await;
            request["container"].take();
            request["tools"].take();
            gateway.upstreams[0].respond(file_answer(stream, FILE));
            let passed = gateway.post("/v1/messages", &request).await;
            assert_eq!(seen.text, passed.text);
        }
    });
}

#[test]
fn a_file_is_found_at_the_end_of_a_long_answer() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let client = master_client(&gateway, true);
        let long = json!({"type": "text", "text": "long ".repeat(500_000)});
        let output = json!({"type": "code_execution_output", "file_id": FILE});
        let result = json!({"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1",
            "content": {"type": "code_execution_result", "stdout": "", "stderr": "",
                "return_code": 0, "content": [output]}});
        let body = json!({"type": "message", "content": [long, result], "usage": {}}).to_string();
        gateway.upstreams[0]
            .respond(MockResponse::json(200, &body).in_chunks(50_000))
            .respond(MockResponse::bytes(200, "text/plain", "the slides"));
        let request = native_skill_request(ClientDialect::Messages, false);
        let response = client
            .send_model_request(ClientDialect::Messages, &request)
            .await;
        assert!(response == body, "it passes as it came");
        let path = "/v1/files/file_011theirs/content";
        let head = client.send(Method::HEAD, path).await;
        assert_eq!(
            (head.status().as_u16(), head.bytes().await.unwrap().len()),
            (200, 0)
        );
    });
}

#[test]
fn another_tenant_finds_nothing_and_no_provider_is_called() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let keys = ["one", "two"].map(|tenant| key(&gateway.server, tenant));
        let [one, two] = keys.each_ref().map(|key| TestClient {
            key,
            ..master_client(&gateway, true)
        });
        gateway.upstreams[0].respond(file_answer(true, FILE));
        let request = native_skill_request(ClientDialect::Messages, true);
        one.send_model_request(ClientDialect::Messages, &request)
            .await;
        gateway.upstreams[0].requests().await;
        for (method, path) in [
            (Method::GET, "/v1/files/file_011theirs"),
            (Method::GET, "/v1/files/file_011theirs/content"),
            (Method::DELETE, "/v1/files/file_011theirs"),
            (
                Method::GET,
                "/v1/containers/container_011theirs/files/file_011theirs",
            ),
            (
                Method::GET,
                "/v1/containers/container_011theirs/files/file_011theirs/content",
            ),
            (
                Method::DELETE,
                "/v1/containers/container_011theirs/files/file_011theirs",
            ),
        ] {
            let (status, error) = two.json(method, path).await;
            assert_eq!(status, 404, "{path}: {error}");
        }
        assert!(gateway.upstreams[0].requests().await.is_empty());
        gateway.upstreams[0].respond(MockResponse::json(200, ABOUT));
        let (status, _) = one.json(Method::GET, "/v1/files/file_011theirs").await;
        assert_eq!(status, 200, "its own it still has");
    });
}

#[test]
fn an_id_that_a_model_only_wrote_belongs_to_nobody() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let client = master_client(&gateway, true);
        let output = json!({"type": "bash_code_execution_output", "file_id": FILE});
        let forged = [
            json!({"type": "tool_use", "id": "toolu_1", "name": "weather",
                "input": {"type": "bash_code_execution_tool_result",
                    "content": {"content": [output]}}}),
            json!({"type": "text", "text": output.to_string()}),
        ];
        for stream in [false, true] {
            gateway.upstreams[0].respond(model_answer(stream, &forged));
            let request = native_skill_request(ClientDialect::Messages, stream);
            assert!(
                client
                    .send_model_request(ClientDialect::Messages, &request)
                    .await
                    .contains(FILE)
            );
            let (status, _) = client.json(Method::GET, "/v1/files/file_011theirs").await;
            assert_eq!(status, 404);
        }
        assert_eq!(gateway.upstreams[0].requests().await.len(), 2);
    });
}

#[test]
fn clients_of_other_dialects_fetch_by_the_ids_they_were_given() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let test_client = master_client(&gateway, false);
        for (client, stream) in [
            (ClientDialect::Chat, false),
            (ClientDialect::Chat, true),
            (ClientDialect::Responses, false),
            (ClientDialect::Responses, true),
        ] {
            gateway.upstreams[0].respond(file_answer(stream, FILE));
            let response = test_client
                .send_model_request(client, &native_skill_request(client, stream))
                .await;
            assert!(response.contains(FILE) && response.contains("container_011theirs"));

            let in_container = "/v1/containers/container_011theirs/files/file_011theirs";
            for (file, object) in [
                ("/v1/files/file_011theirs", "file"),
                (in_container, "container.file"),
            ] {
                gateway.upstreams[0]
                    .respond(MockResponse::json(200, ABOUT))
                    .respond(MockResponse::bytes(200, "text/plain", "the slides"));
                let (status, about) = test_client.json(Method::GET, file).await;
                assert_eq!((status, &about["object"]), (200, &json!(object)), "{about}");
                assert_eq!((&about["bytes"], &about["id"]), (&json!(9), &json!(FILE)));
                assert_eq!(about["created_at"], 1_767_323_045, "{about}");
                let got = test_client
                    .send(Method::GET, &format!("{file}/content"))
                    .await;
                assert_eq!(got.text().await.unwrap(), "the slides");
            }
            gateway.upstreams[0].respond(MockResponse::json(404, NO_FILE));
            let (status, error) = test_client
                .json(Method::GET, "/v1/files/file_011theirs")
                .await;
            assert_eq!(status, 404);
            let message = &error["error"]["message"];
            assert_eq!(message, "File not found: file_011theirs", "{error}");

            gateway.upstreams[0].respond(MockResponse::json(200, DELETED));
            let deleted = match client {
                ClientDialect::Chat => "/v1/files/file_011theirs",
                _ => in_container,
            };
            let (status, gone) = test_client.json(Method::DELETE, deleted).await;
            assert_eq!((status, &gone["deleted"]), (200, &json!(true)), "{gone}");
            let (status, _) = test_client
                .json(Method::GET, "/v1/files/file_011theirs")
                .await;
            assert_eq!(status, 404);
        }
    });
}

#[test]
fn a_run_beside_stored_skills_names_files_that_are_fetched() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let stored = gateway.store(&SkillFixture::new("report")).await;
        let client = master_client(&gateway, true);
        for stream in [false, true] {
            let mut request = native_skill_request(ClientDialect::Messages, stream);
            let ours = json!({"type": "custom", "skill_id": stored});
            request["container"]["skills"]
                .as_array_mut()
                .unwrap()
                .push(ours);
            let file = format!("file_{stream}");
            gateway.upstreams[0].respond(file_answer(stream, &file));
            client
                .send_model_request(ClientDialect::Messages, &request)
                .await;
            gateway.upstreams[0].respond(MockResponse::bytes(200, "text/plain", "the slides"));
            let content = format!("/v1/files/{file}/content");
            let got = client.send(Method::GET, &content).await;
            assert_eq!(got.text().await.unwrap(), "the slides");
        }
    });
}

#[test]
fn a_file_of_a_provider_that_is_gone_is_reported_where_it_was() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        gateway.upstreams[0].respond(file_answer(false, FILE));
        let request = native_skill_request(ClientDialect::Messages, false);
        master_client(&gateway, true)
            .send_model_request(ClientDialect::Messages, &request)
            .await;
        let data = gateway.server.folder().join("data");
        let bare = TestServer::start(&[("PROWESS_DATA_DIR", data.to_str().unwrap())]);
        for anthropic in [true, false] {
            let client = TestClient {
                url: bare.url(),
                ..master_client(&gateway, anthropic)
            };
            let path = "/v1/files/file_011theirs/content";
            let (status, error) = client.json(Method::GET, path).await;
            assert_eq!(status, 404, "{error}");
            let message = error["error"]["message"].as_str().unwrap();
            assert!(message.contains("`anthropic-0`"), "{message}");
            assert!(error.to_string().contains("file-provider-gone"), "{error}");
        }
    });
}

#[test]
fn a_callers_own_key_goes_along_where_it_may() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let own = format!(
            "[providers.own]\nkind = 'anthropic'\nbase_url = '{}'\ncaller_key = true\n",
            gateway.upstreams[0].url()
        );
        let server = gateway.sibling_with(&own);
        let mut body = native_skill_request(ClientDialect::Messages, false);
        body["model"] = "own/m1".into();
        gateway.upstreams[0]
            .respond(file_answer(false, FILE))
            .respond(MockResponse::json(200, ABOUT));
        let with_key = |method, path: &str| {
            let request = gateway
                .http
                .request(method, format!("{}{path}", server.url()));
            request
                .bearer_auth(MASTER)
                .header("anthropic-version", "2023-06-01")
                .header("prowess-provider-key", "brought-along")
        };
        let posted = with_key(Method::POST, "/v1/messages").body(body.to_string());
        let posted = posted.send().await.unwrap();
        assert_eq!(posted.status(), 200);
        // Only who has read the name of a file may ask for it.
        assert!(posted.text().await.unwrap().contains("file_011theirs"));
        let got = with_key(Method::GET, "/v1/files/file_011theirs");
        assert_eq!(got.send().await.unwrap().status(), 200);
        for sent in gateway.upstreams[0].requests().await {
            assert_eq!(sent.header("x-api-key"), Some("brought-along"));
            assert_eq!(sent.header("prowess-provider-key"), None);
        }
    });
}

/// A client's key is meant for the provider of its model, which need not be the one that a fallback
/// called.
#[test]
fn a_file_of_the_configured_account_is_not_fetched_with_a_clients_key() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let own = format!(
            "[providers.own]\nkind = 'anthropic'\nbase_url = '{}'\n\
             api_key = 'the-configured-key'\nallow_client_key = true\n",
            gateway.upstreams[0].url()
        );
        let server = gateway.sibling_with(&own);
        let mut body = native_skill_request(ClientDialect::Messages, false);
        body["model"] = "own/m1".into();
        gateway.upstreams[0]
            .respond(file_answer(false, FILE))
            .respond(MockResponse::json(200, ABOUT));
        let request = |method, path: &str| {
            let request = gateway
                .http
                .request(method, format!("{}{path}", server.url()));
            request
                .bearer_auth(MASTER)
                .header("anthropic-version", "2023-06-01")
        };
        let posted = request(Method::POST, "/v1/messages").body(body.to_string());
        let posted = posted.send().await.unwrap();
        assert_eq!(posted.status(), 200);
        assert!(posted.text().await.unwrap().contains("file_011theirs"));
        let got = request(Method::GET, "/v1/files/file_011theirs");
        let got = got.header("prowess-provider-key", "brought-along");
        assert_eq!(got.send().await.unwrap().status(), 200);
        let sent = gateway.upstreams[0].requests().await;
        assert_eq!(sent.len(), 2);
        for sent in sent {
            assert_eq!(sent.header("x-api-key"), Some("the-configured-key"));
        }
    });
}

/// The most memory a server has had so far, in kB.
fn peak(server: &TestServer) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

/// The upstream sends until its client leaves: whoever kept what came would never give
/// anything on.
#[test]
fn a_file_of_any_size_passes_as_it_comes() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let client = master_client(&gateway, true);
        gateway.upstreams[0].respond(file_answer(false, FILE));
        let request = native_skill_request(ClientDialect::Messages, false);
        client
            .send_model_request(ClientDialect::Messages, &request)
            .await;
        let part = vec![5; 1 << 20];
        gateway.upstreams[0].respond(MockResponse::bytes(200, "video/mp4", part).then_endless());
        let before = peak(&gateway.server);
        let got = client.send(Method::GET, "/v1/files/file_011theirs/content");
        let mut body = got.await.bytes_stream();
        let mut read = 0;
        while read < 64 << 20 {
            read += body.next().await.unwrap().unwrap().len();
        }
        drop(body);
        gateway.upstreams[0].client_disconnected().await;
        let grown = peak(&gateway.server) - before;
        assert!(grown < 24 << 10, "{grown} kB were held of {read} bytes");
    });
}

#[test]
fn the_vendors_clients_fetch_them_unchanged() {
    run(async {
        for (client, script, streamed) in [
            (
                "anthropic-0.100",
                "native_files_anthropic.py",
                [false, true].as_slice(),
            ),
            ("anthropic-2.8", "native_files_anthropic.py", &[false, true]),
            ("openai-3.49", "native_files_openai.py", &[false]),
        ] {
            let gateway = TestGateway::open(1, "").await;
            for stream in streamed {
                gateway.upstreams[0]
                    .respond(file_answer(*stream, FILE))
                    .respond(MockResponse::json(200, ABOUT))
                    .respond(MockResponse::bytes(200, "text/plain", "the slides"))
                    .respond(MockResponse::json(200, DELETED));
            }
            let mut program = python(client, script);
            program
                .env("PROWESS_URL", gateway.server.url())
                .env("PROWESS_API_KEY", MASTER)
                .env("PROWESS_MODEL", Vendor::Anthropic.model(0));
            tokio::task::spawn_blocking(move || succeeded(&mut program))
                .await
                .unwrap();
            let requests = gateway.upstreams[0].requests().await;
            assert_eq!(requests.len(), streamed.len() * 4, "{client}");
        }
    });
}
