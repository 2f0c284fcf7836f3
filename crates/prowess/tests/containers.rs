//! `/v1/containers` over real HTTP and a real sandbox.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use prowess::Prowess;
use prowess::provider::config::{Kind, ProviderConfig, ScriptedOptions};
use prowess::server::{Secret, ServeOptions, Settings, serve};
use prowess::store::{NewKey, Scope, TenantId};
use reqwest::multipart::{Form, Part};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const SCRIPT: &str = r#"
[[step]]
when.turn = 1
calls = [{ name = "bash_code_execution", input = { command = "tr a-z A-Z < in.txt > out.txt; cat out.txt; ls /skills" } }]
[[step]]
text = "It says: {{tool_result}}"
"#;

struct Server {
    prowess: Prowess,
    http: Client,
    url: String,
    key: String,
}

impl Server {
    async fn start() -> Server {
        let script = Kind::Scripted(ScriptedOptions::Text(SCRIPT.to_owned()));
        let prowess = Prowess::builder()
            .provider(ProviderConfig::new("stage", script))
            // A test's own main cannot become the launcher.
            .sandbox(|settings| {
                settings.launcher = env!("CARGO_BIN_EXE_prowess").into();
                settings.allow_reduced = true;
                settings.warm = 0;
            })
            .open()
            .await
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let app = prowess.app(Settings {
            master_key: Some(Secret::new("the-master-key-of-these-tests")),
            ..Settings::default()
        });
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, app, stop, ServeOptions::default()));
        let mut server = Server {
            prowess,
            http: Client::builder().no_proxy().build().unwrap(),
            url,
            key: String::new(),
        };
        server.key = server.key_of("default").await;
        server
    }

    async fn key_of(&self, tenant: &str) -> String {
        let tenant = TenantId::new(tenant).unwrap();
        let store = self.prowess.store();
        store.ensure_tenant(&tenant, "a tenant").await.unwrap();
        let scopes = &[Scope::Use, Scope::Publish];
        let new = NewKey {
            name: "a key",
            scopes,
            expires_in: None,
        };
        let (_, secret) = store.create_key(&tenant, &new).await.unwrap();
        secret.reveal().to_owned()
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        request.bearer_auth(&self.key)
    }

    async fn get(&self, path: &str) -> Value {
        told(self.request(Method::GET, path)).await
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        told(self.request(Method::POST, path).json(&body)).await
    }
}

/// The answer of a request that must be granted.
async fn told(request: RequestBuilder) -> Value {
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
    let server = Server::start().await;
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
    let put = told(server.request(Method::POST, &files).multipart(form)).await;
    assert_eq!(text(&put, "path"), "/mnt/data/in.txt");
    assert_eq!(
        (put["bytes"].as_u64(), text(&put, "source")),
        (Some(5), "user".into())
    );

    let asked = json!({
        "model": "stage/hero", "input": "Shout it",
        "tools": [{"type": "shell", "environment": {"type": "container_reference", "container_id": id}}],
    });
    let answer = server.post("/responses", asked).await.to_string();
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
        let gone = told(server.request(Method::DELETE, &format!("{files}/{file}"))).await;
        assert_eq!(gone["deleted"], true);
    }
    assert_eq!(server.get(&files).await["data"], json!([]));

    assert_eq!(server.get("/containers?limit=1").await["data"][0]["id"], id);
    told(server.request(Method::DELETE, &format!("/containers/{id}"))).await;
    assert_eq!(server.get("/containers").await["data"], json!([]));
    let again = refused(server.request(Method::GET, &format!("/containers/{id}"))).await;
    assert_eq!(again, (StatusCode::NOT_FOUND, "container-not-found".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_file_can_be_put_in_by_its_id() {
    let server = Server::start().await;
    let part = Part::bytes(b"a,b\n".to_vec()).file_name("table.csv");
    let form = Form::new().text("purpose", "user_data").part("file", part);
    let stored = told(server.request(Method::POST, "/files").multipart(form)).await;
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
    let asked = json!({"file_id": "file_none"});
    let none = refused(server.request(Method::POST, &files).json(&asked)).await;
    assert_eq!(none, (StatusCode::NOT_FOUND, "file-not-found".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_sees_or_touches_the_containers_of_others() {
    let mut server = Server::start().await;
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
    let server = Server::start().await;
    let why = async |body: Value| {
        let response = server
            .request(Method::POST, "/containers")
            .json(&body)
            .send()
            .await;
        let body: Value = response.unwrap().json().await.unwrap();
        text(&body["error"], "message")
    };
    insta::assert_snapshot!(why(json!({})).await, @"name: must be a text of 1 to 200 letters");
    insta::assert_snapshot!(why(json!({"name": "a", "memory_limit": "64g"})).await, @"memory_limit: 1073741824 bytes is the most");
    insta::assert_snapshot!(why(json!({"name": "a", "expires_after": {"anchor": "last_active_at", "minutes": 999}})).await, @"expires_after.minutes: 20 minutes is the most");
    insta::assert_snapshot!(why(json!({"name": "a", "network_policy": {"type": "allowlist", "allowed_domains": ["a.org"]}})).await, @"network_policy.allowed_domains: code that runs here may not reach `a.org`; leave it out, or have the operator name it in `[sandbox] domains`");
    insta::assert_snapshot!(why(json!({"name": "a", "skills": [{"type": "skill_reference", "skill_id": "skill_no"}]})).await, @"skill `skill_no` not found; upload it first");
    insta::assert_snapshot!(why(json!({"name": "a", "file_ids": ["file_no"]})).await, @"file `file_no` not found; upload it before it is put into a container");
    assert_eq!(
        server.get("/containers").await["data"],
        json!([]),
        "nothing is left behind"
    );
}
