//! `/v1/containers` over real HTTP and a real sandbox.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod place;

use place::{LocalServer, is_left_out};
use prowess::provider::{ProviderConfig, ProviderKind, ScriptedOptions};
use prowess::sandbox::SandboxSettings;
use prowess::server::{SecretString, ServeOptions, ServerSettings, serve};
use prowess::store::{KeyScope, NewKey, TenantId};
use prowess::{EngineSettings, Prowess};
use reqwest::multipart::{Form, Part};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const SCRIPT: &str = r#"
[[step]]
when.turn = 1
calls = [{ name = "bash_code_execution", input = { command = "tr a-z A-Z < in.txt > out.txt; cat out.txt; ls /skills" } }]
[[step]]
text = "It says: {{tool_result}}"
"#;

struct TestServer {
    local: LocalServer,
    http: Client,
    url: String,
    key: String,
}

impl TestServer {
    async fn start() -> TestServer {
        TestServer::start_with(|_| {}).await
    }

    async fn start_with(change: impl FnOnce(&mut SandboxSettings) + Send + 'static) -> TestServer {
        let script = ProviderKind::new(ScriptedOptions::Text(SCRIPT.to_owned()));
        let builder = Prowess::builder().provider(ProviderConfig::new("stage", script));
        let tune = move |settings: &mut SandboxSettings| {
            settings.allow_reduced = true;
            settings.warm = 0;
            change(settings);
        };
        let settings = ServerSettings {
            master_key: Some(SecretString::new("the-master-key-of-these-tests")),
            ..ServerSettings::default()
        };
        let local = LocalServer::open(builder, EngineSettings::default(), tune, settings).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        let app = local.app.clone();
        tokio::spawn(serve(listener, app, stop, ServeOptions::default()));
        let mut server = TestServer {
            local,
            http: Client::builder().no_proxy().build().unwrap(),
            url,
            key: String::new(),
        };
        server.key = server.key_of("default").await;
        server
    }

    async fn key_of(&self, tenant: &str) -> String {
        let tenant = TenantId::new(tenant).unwrap();
        let store = self.local.prowess.store();
        store.ensure_tenant(&tenant, "a tenant").await.unwrap();
        let scopes = &[KeyScope::Use, KeyScope::Publish];
        let new = NewKey {
            name: "a key",
            scopes,
            expires_in: None,
            auto: None,
        };
        let (_, secret) = store.create_key(&tenant, &new).await.unwrap();
        secret.reveal().to_owned()
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        request.bearer_auth(&self.key)
    }

    async fn get(&self, path: &str) -> Value {
        send_json(self.request(Method::GET, path)).await
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        send_json(self.request(Method::POST, path).json(&body)).await
    }
}

/// The answer of a request that must be granted.
async fn send_json(request: RequestBuilder) -> Value {
    let response = request.send().await.unwrap();
    let (status, body) = (response.status(), response.text().await.unwrap());
    assert!(status.is_success(), "{status}: {body}");
    serde_json::from_str(&body).unwrap()
}

/// Why a request that must be refused is.
async fn refused(request: RequestBuilder) -> (StatusCode, String) {
    let response = request.send().await.unwrap();
    let status = response.status();
    let body: Value = response.json().await.unwrap();
    (status, body["error"]["code"].as_str().unwrap().to_owned())
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_is_made_filled_used_in_a_request_and_removed() {
    let server = TestServer::start().await;
    let made = server
        .post("/containers", json!({"name": "desk", "memory_limit": "1g"}))
        .await;
    let id = text(&made, "id");
    assert!(id.starts_with("cntr_"), "{made}");
    assert_eq!(
        (text(&made, "object"), text(&made, "name")),
        ("container".into(), "desk".into())
    );
    assert_eq!(made["expires_after"]["minutes"], 20);
    assert_eq!(
        server.get(&format!("/containers/{id}")).await["name"],
        "desk"
    );

    let files = format!("/containers/{id}/files");
    let part = Part::bytes(b"hello".to_vec()).file_name("../in.txt");
    let form = Form::new().part("file", part);
    let put = send_json(server.request(Method::POST, &files).multipart(form)).await;
    assert_eq!(text(&put, "path"), "/mnt/data/in.txt");
    assert_eq!(
        (put["bytes"].as_u64(), text(&put, "source")),
        (Some(5), "user".into())
    );

    let request = json!({
        "model": "stage/hero", "input": "Shout it",
        "tools": [{"type": "shell", "environment": {"type": "container_reference", "container_id": id}}],
    });
    let answer = server.post("/responses", request).await.to_string();
    assert!(answer.contains("HELLO"), "{answer}");

    let listed = server.get(&files).await;
    let listed = listed["data"].as_array().unwrap();
    let of = |name: &str| {
        listed
            .iter()
            .find(|file| text(file, "path").ends_with(name))
            .unwrap()
    };
    let out = text(of("out.txt"), "id");
    assert_eq!(text(of("out.txt"), "source"), "assistant");
    assert!(answer.contains(&out), "the run tells the same id: {answer}");
    for file in [&out, &text(&put, "id")] {
        let content = server.request(Method::GET, &format!("{files}/{file}/content"));
        let content = content.send().await.unwrap().text().await.unwrap();
        assert_eq!(content.to_lowercase(), "hello");
        let gone = send_json(server.request(Method::DELETE, &format!("{files}/{file}"))).await;
        assert_eq!(gone["deleted"], true);
    }
    assert_eq!(server.get(&files).await["data"], json!([]));

    assert_eq!(server.get("/containers?limit=1").await["data"][0]["id"], id);
    send_json(server.request(Method::DELETE, &format!("/containers/{id}"))).await;
    assert_eq!(server.get("/containers").await["data"], json!([]));
    let again = refused(server.request(Method::GET, &format!("/containers/{id}"))).await;
    assert_eq!(again, (StatusCode::NOT_FOUND, "container-not-found".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_file_can_be_put_in_by_its_id() {
    let server = TestServer::start().await;
    let part = Part::bytes(b"a,b\n".to_vec()).file_name("table.csv");
    let form = Form::new().text("purpose", "user_data").part("file", part);
    let stored = send_json(server.request(Method::POST, "/files").multipart(form)).await;
    let file = text(&stored, "id");
    let made = server
        .post("/containers", json!({"name": "a", "file_ids": [file]}))
        .await;
    let files = format!("/containers/{}/files", text(&made, "id"));
    assert_eq!(
        server.get(&files).await["data"][0]["path"],
        "/mnt/data/table.csv"
    );
    let second = server.post("/containers", json!({"name": "b"})).await;
    let files = format!("/containers/{}/files", text(&second, "id"));
    let put = server.post(&files, json!({"file_id": file})).await;
    assert_eq!(put["path"], "/mnt/data/table.csv");
    let request = json!({"file_id": "file_none"});
    let none = refused(server.request(Method::POST, &files).json(&request)).await;
    assert_eq!(none, (StatusCode::NOT_FOUND, "file-not-found".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_sees_or_touches_the_containers_of_others() {
    let mut server = TestServer::start().await;
    let made = server.post("/containers", json!({"name": "mine"})).await;
    let one = format!("/containers/{}", text(&made, "id"));
    server.key = server.key_of("other").await;
    assert_eq!(server.get("/containers").await["data"], json!([]));
    let form = || Form::new().part("file", Part::bytes(b"x".to_vec()).file_name("x"));
    let tries = [
        server.request(Method::GET, &one),
        server.request(Method::DELETE, &one),
        server.request(Method::GET, &format!("{one}/files")),
        server
            .request(Method::POST, &format!("{one}/files"))
            .multipart(form()),
        server.request(Method::GET, &format!("{one}/files/cfile_61")),
        server.request(Method::DELETE, &format!("{one}/files/cfile_61")),
        server.request(Method::GET, &format!("{one}/files/cfile_61/content")),
    ];
    for tried in tries {
        assert_eq!(
            refused(tried).await,
            (StatusCode::NOT_FOUND, "container-not-found".into())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_given_is_refused_by_field() {
    let server = TestServer::start().await;
    let why = async |body: Value| {
        let response = server
            .request(Method::POST, "/containers")
            .json(&body)
            .send()
            .await;
        let body: Value = response.unwrap().json().await.unwrap();
        text(&body["error"], "message")
    };
    insta::assert_snapshot!(why(json!({})).await, @"name: must be 1 to 200 characters");
    insta::assert_snapshot!(why(json!({"name": "a", "memory_limit": "64g"})).await, @"memory_limit: at most 1073741824 bytes are allowed");
    insta::assert_snapshot!(why(json!({"name": "a", "expires_after": {"anchor": "last_active_at", "minutes": 999}})).await, @"expires_after.minutes: at most 20 minutes are allowed");
    insta::assert_snapshot!(why(json!({"name": "a", "network_policy": {"type": "allowlist", "allowed_domains": ["a.org"]}})).await, @"network_policy.allowed_domains: code that runs here may not reach `a.org`; leave it out, or have the operator name it in `[sandbox] domains`");
    insta::assert_snapshot!(why(json!({"name": "a", "skills": [{"type": "skill_reference", "skill_id": "skill_no"}]})).await, @"skill `skill_no` not found; upload it first");
    insta::assert_snapshot!(why(json!({"name": "a", "file_ids": ["file_no"]})).await, @"file `file_no` not found; upload it before it is put into a container");
    assert_eq!(
        server.get("/containers").await["data"],
        json!([]),
        "nothing is left behind"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_has_so_many_containers_and_another_has_its_own() {
    let mut server = TestServer::start_with(|settings| {
        settings.containers_per_tenant = 3;
        settings.evict_idle = Duration::from_secs(100_000);
    })
    .await;
    let (greedy, victim) = (server.key.clone(), server.key_of("victim").await);
    let create = |server: &TestServer| {
        let create = server.request(Method::POST, "/containers");
        create.json(&json!({"name": "one"}))
    };
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(text(&send_json(create(&server)).await, "id"));
    }
    let response = create(&server).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    let body: Value = response.json().await.unwrap();
    insta::assert_snapshot!(body["error"]["message"].as_str().unwrap(), @"this tenant has 3 of 3 containers (containers_per_tenant); delete one, or try again when one has been idle for a while");
    assert_eq!(text(&body["error"], "code"), "too-many-containers");
    server.key = victim;
    send_json(create(&server)).await;
    server.key = greedy;
    let listed = server.get("/containers").await;
    assert_eq!(listed["data"].as_array().unwrap().len(), 3, "none went");
    send_json(server.request(Method::DELETE, &format!("/containers/{}", made[0]))).await;
    send_json(create(&server)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_reported_as_such_and_is_full_for_one_tenant_only() {
    if is_left_out("a_full_disk_is_reported_as_such_and_is_full_for_one_tenant_only") {
        return;
    }
    let mut server = TestServer::start_with(|settings| {
        settings.disk_bytes = 1 << 20;
        settings.evict_idle = Duration::from_secs(100_000);
    })
    .await;
    let put = async |server: &TestServer, size: usize| {
        let made = server.post("/containers", json!({"name": "one"})).await;
        let files = format!("/containers/{}/files", text(&made, "id"));
        let part = Part::bytes(vec![b'x'; size]).file_name("big");
        let form = Form::new().part("file", part);
        let request = server.request(Method::POST, &files).multipart(form);
        request.send().await.unwrap()
    };
    assert!(put(&server, 300_000).await.status().is_success());
    let full = put(&server, 300_000).await;
    assert_eq!(full.status(), StatusCode::INSUFFICIENT_STORAGE);
    assert_eq!(full.headers()["x-should-retry"], "false");
    let body: Value = full.json().await.unwrap();
    assert_eq!(text(&body["error"], "code"), "disk-full");
    let message = text(&body["error"], "message");
    assert!(message.contains("(tenant_disk_size)"), "{message}");
    server.key = server.key_of("victim").await;
    assert!(put(&server, 300_000).await.status().is_success());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_replaces_a_file_of_its_name_and_not_what_became_of_itself() {
    let server = TestServer::start().await;
    let form = |content: &'static str| {
        let part = Part::bytes(content.as_bytes().to_vec()).file_name("in.txt");
        Form::new().text("purpose", "user_data").part("file", part)
    };
    let made = server.post("/containers", json!({"name": "desk"})).await;
    let id = text(&made, "id");
    let files = format!("/containers/{id}/files");
    let lies = async |content| {
        send_json(
            server
                .request(Method::POST, &files)
                .multipart(form(content)),
        )
        .await;
    };
    let stored = server.request(Method::POST, "/files");
    let stored = send_json(stored.multipart(form("fresh"))).await;
    let request = json!({
        "model": "stage/hero", "max_tokens": 100, "container": id,
        "tools": [{"type": "code_execution_20250825", "name": "code_execution"}],
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "Shout it"},
            {"type": "container_upload", "file_id": stored["id"]},
        ]}],
    });
    let answer = async || server.post("/messages", request.clone()).await.to_string();
    lies("left behind").await;
    let first = answer().await;
    assert!(first.contains("FRESH"), "{first}");
    // A conversation names its files again in each request.
    lies("edited").await;
    let second = answer().await;
    assert!(second.contains("EDITED"), "{second}");
    // Named on its own, it is put there again.
    server.post(&files, json!({"file_id": stored["id"]})).await;
    let third = answer().await;
    assert!(third.contains("FRESH"), "{third}");
}
