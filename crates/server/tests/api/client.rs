//! A test client: requests in a dialect, responses as snapshots.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use bytes::Bytes;
use prowess_server::{App, HttpService, ServerSettings};
use prowess_store::{KeyScope, NewKey, Store, StoreConfig, TenantId};
use prowess_testkit::SkillFixture;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

/// The client's dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestDialect {
    /// Anthropic's beta of skills and of files.
    Beta,
    /// Anthropic since general availability.
    Ga,
    /// Anthropic's newest.
    G3,
    OpenAi,
}

pub(crate) const ALL: [TestDialect; 4] = [
    TestDialect::Beta,
    TestDialect::Ga,
    TestDialect::G3,
    TestDialect::OpenAi,
];

impl TestDialect {
    fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            TestDialect::Beta => &[
                ("anthropic-version", "2023-06-01"),
                ("anthropic-beta", "skills-2025-10-02,files-api-2025-04-14"),
            ],
            TestDialect::Ga => &[("anthropic-version", "2023-06-01")],
            TestDialect::G3 => &[("anthropic-version", "2026-10-21")],
            TestDialect::OpenAi => &[],
        }
    }
}

/// A server and its data folder.
pub(crate) struct Server {
    pub(crate) app: App,
    pub(crate) front: HttpService,
    config: StoreConfig,
    folder: Arc<TempDir>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct ClientResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Server {
    pub(crate) async fn new() -> Server {
        Server::with(ServerSettings::default()).await
    }

    pub(crate) async fn with(settings: ServerSettings) -> Server {
        Server::with_store(settings, |_| {}).await
    }

    /// A server whose store configuration is changed before it is opened.
    pub(crate) async fn with_store(
        settings: ServerSettings,
        change: fn(&mut StoreConfig),
    ) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let mut config = StoreConfig::local(folder.path());
        change(&mut config);
        Server::open(config, Arc::new(folder), settings).await
    }

    /// Another server with the same store.
    pub(crate) async fn beside(&self, settings: ServerSettings) -> Server {
        Server::open(self.config.clone(), Arc::clone(&self.folder), settings).await
    }

    /// Another connection to its store.
    pub(crate) async fn another_store(&self) -> Store {
        Store::open(&self.config).await.unwrap()
    }

    async fn open(config: StoreConfig, folder: Arc<TempDir>, settings: ServerSettings) -> Server {
        let store = Store::open(&config).await.unwrap();
        let app = App::new(store, settings);
        Server {
            front: app.service(),
            app,
            config,
            folder,
        }
    }

    /// A key of a tenant.
    pub(crate) async fn key(&self, tenant: &str, scopes: &[KeyScope]) -> String {
        let tenant = TenantId::new(tenant).unwrap();
        self.app
            .store()
            .ensure_tenant(&tenant, "a tenant")
            .await
            .unwrap();
        let new = NewKey {
            name: "a key",
            scopes,
            expires_in: None,
            auto: None,
        };
        let (_, secret) = self.app.store().create_key(&tenant, &new).await.unwrap();
        secret.reveal().to_owned()
    }

    pub(crate) fn request(&self, dialect: TestDialect, method: Method, path: &str) -> Call {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost");
        for (name, value) in dialect.headers() {
            request = request.header(*name, *value);
        }
        Call {
            front: self.front.clone(),
            request,
        }
    }

    pub(crate) fn get(&self, dialect: TestDialect, path: &str) -> Call {
        self.request(dialect, Method::GET, path)
    }

    pub(crate) fn delete(&self, dialect: TestDialect, path: &str) -> Call {
        // As the SDKs send it: a type, and no body.
        let call = self.request(dialect, Method::DELETE, path);
        call.header("content-type", "application/json")
    }

    pub(crate) fn post(&self, dialect: TestDialect, path: &str) -> Call {
        self.request(dialect, Method::POST, path)
    }

    /// Creates a skill with a key.
    pub(crate) async fn skill_of(&self, key: &str, name: &str) {
        let call = self.post(TestDialect::OpenAi, "/v1/skills").key(key);
        let answer = call.form(&Form::skill(&SkillFixture::new(name))).await;
        answer.ok();
    }

    /// Creates a skill and returns its id.
    pub(crate) async fn skill(&self, name: &str) -> String {
        let call = self.post(TestDialect::OpenAi, "/v1/skills");
        let answer = call.form(&Form::skill(&SkillFixture::new(name))).await;
        answer.ok()["id"].as_str().unwrap().to_owned()
    }
}

/// A request before it is sent.
pub(crate) struct Call {
    front: HttpService,
    request: axum::http::request::Builder,
}

impl Call {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Call {
        self.request = self.request.header(name, value);
        self
    }

    pub(crate) fn key(self, key: &str) -> Call {
        self.header("x-api-key", key)
    }

    pub(crate) async fn send(self) -> ClientResponse {
        self.body(Body::empty()).await
    }

    pub(crate) async fn json(self, value: &Value) -> ClientResponse {
        let call = self.header("content-type", "application/json");
        call.body(Body::from(value.to_string())).await
    }

    pub(crate) async fn form(self, form: &Form) -> ClientResponse {
        let kind = format!("multipart/form-data; boundary={BOUNDARY}");
        self.header("content-type", &kind).body(form.body()).await
    }

    pub(crate) async fn body(self, body: Body) -> ClientResponse {
        let response = self
            .front
            .oneshot(self.request.body(body).unwrap())
            .await
            .unwrap();
        let (parts, body) = response.into_parts();
        ClientResponse {
            status: parts.status,
            headers: parts.headers,
            body: axum::body::to_bytes(body, usize::MAX).await.unwrap(),
        }
    }
}

impl ClientResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&self.body));
        })
    }

    /// The body of a successful response.
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{:?}", self.body);
        self.json()
    }

    /// The code of an error, in any dialect or over MCP.
    pub(crate) fn code(&self) -> String {
        let body = self.json();
        let error = &body["error"];
        let code = error["code"]
            .as_str()
            .or(error["details"]["error_code"].as_str())
            .or(error["data"]["code"].as_str())
            .or(error["details"][0]["reason"].as_str());
        code.unwrap_or_else(|| panic!("no code in {body}"))
            .to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Status, relevant headers and body, with varying parts masked.
    pub(crate) fn exchange(&self) -> String {
        let mut text = format!("{}\n", self.status.as_u16());
        for (name, value) in &self.headers {
            let value = value.to_str().unwrap();
            text.push_str(&masked(&format!("{name}: {value}\n")));
        }
        let body = match serde_json::from_slice::<Value>(&self.body) {
            Ok(value) => serde_json::to_string_pretty(&value).unwrap(),
            Err(_) => format!("({} bytes)", self.body.len()),
        };
        format!("{text}\n{}", masked(&body))
    }
}

/// Masks ids by prefix and times by format.
pub(crate) fn masked(text: &str) -> String {
    let mut text = text.to_owned();
    for prefix in ["skill_", "skver_", "file_", "req_", "sha256:"] {
        text = mask_after(&text, prefix);
    }
    let words = text.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || "-:.".contains(c)));
    words.map(mask_time).collect()
}

fn mask_after(text: &str, prefix: &str) -> String {
    let mut parts = text.split(prefix);
    let mut masked = parts.next().unwrap().to_owned();
    for part in parts {
        let letters = part.chars().take_while(char::is_ascii_alphanumeric).count();
        masked.push_str(prefix);
        // Words like `skill_deleted` are not ids.
        if letters >= 20 {
            masked.push('…');
            masked.push_str(&part[letters..]);
        } else {
            masked.push_str(part);
        }
    }
    masked
}

fn mask_time(word: &str) -> String {
    let end = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let rest = &word[end.len()..];
    let digits = end.len() >= 10 && end.bytes().all(|b| b.is_ascii_digit());
    let time = end.len() > 20 && end.ends_with('Z') && end.contains('T');
    match (digits, time) {
        (true, _) => format!("N{rest}"),
        (_, true) => format!("TIME{rest}"),
        _ => word.to_owned(),
    }
}

const BOUNDARY: &str = "a-boundary-of-the-tests";

/// A multipart form in the SDKs' format.
#[derive(Debug, Clone, Default)]
pub(crate) struct Form(Vec<u8>);

impl Form {
    /// A skill's files, each with its folder in its name, as the Python SDKs send them.
    pub(crate) fn skill(skill: &SkillFixture) -> Form {
        let mut form = Form::default();
        for (path, data, _) in skill.files() {
            form = form.file("files[]", &format!("{}/{path}", skill.name()), &data);
        }
        form
    }

    pub(crate) fn text(mut self, name: &str, value: &str) -> Form {
        let head =
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        self.0.extend_from_slice(head.as_bytes());
        self.0.extend_from_slice(value.as_bytes());
        self.0.extend_from_slice(b"\r\n");
        self
    }

    pub(crate) fn file(mut self, name: &str, file_name: &str, data: &[u8]) -> Form {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; \
             filename=\"{file_name}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
        );
        self.0.extend_from_slice(head.as_bytes());
        self.0.extend_from_slice(data);
        self.0.extend_from_slice(b"\r\n");
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let end = format!("--{BOUNDARY}--\r\n");
        [self.0.as_slice(), end.as_bytes()].concat()
    }

    pub(crate) fn kind() -> String {
        format!("multipart/form-data; boundary={BOUNDARY}")
    }

    fn body(&self) -> Body {
        Body::from(self.bytes())
    }
}
