//! The real server with its console, a scripted model and skills, and clients of both its
//! API and its console over plain HTTP.

use prowess_testkit::SkillFixture;
use reqwest::multipart::{Form, Part};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::scripted::{scripted_config, start_scripted};
use crate::server::{MASTER, TestServer, prowess};

/// A model with prices, and one that cannot be reached.
const MORE_CONFIG: &str = "
[[models]]
name = 'demo'
provider = 'stage'
model = 'm'
input_price = 1.0
output_price = 2.0

[[models]]
name = 'second'
provider = 'stage'
model = 'n'
";

/// A server, its configuration and a client.
pub(crate) struct Stage {
    server: TestServer,
    http: Client,
    _config: TempDir,
}

impl Stage {
    /// Starts it with what the model says.
    pub(crate) fn start(script: &str) -> Stage {
        let config = scripted_config(script, MORE_CONFIG);
        let redirects = reqwest::redirect::Policy::none();
        Stage {
            server: start_scripted(&config, &[]),
            http: Client::builder()
                .no_proxy()
                .redirect(redirects)
                .build()
                .unwrap(),
            _config: config,
        }
    }

    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }

    /// Where the server's data are.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.server.folder()
    }

    /// A key of a tenant with scopes, separated by commas.
    pub(crate) fn key(&self, name: &str, tenant: &str, scopes: &str) -> String {
        let mut command = prowess(self.server.folder());
        command.args(["keys", "create", name, "--tenant", tenant, "--json"]);
        for scope in scopes.split(',') {
            command.args(["--scope", scope]);
        }
        let output = command.output().unwrap();
        let made: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        made["key"].as_str().unwrap().to_owned()
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url()))
    }

    /// A request of the API, which must succeed.
    pub(crate) async fn api(&self, key: &str, method: Method, path: &str, body: Value) -> Value {
        let mut request = self.request(method, path).bearer_auth(key);
        if !body.is_null() {
            request = request.json(&body);
        }
        read(request).await
    }

    /// A request of the API that may fail.
    pub(crate) async fn try_api(&self, key: &str, method: Method, path: &str, body: Value) -> u16 {
        let mut request = self.request(method, path).bearer_auth(key);
        if !body.is_null() {
            request = request.json(&body);
        }
        let request = request.header("anthropic-version", "2023-06-01");
        request.send().await.unwrap().status().as_u16()
    }

    /// A request of the operator with a program of this name.
    pub(crate) async fn api_as(&self, agent: &str, method: Method, path: &str, body: Value) {
        let request = self.request(method, path).bearer_auth(OPERATOR);
        read(request.header("user-agent", agent).json(&body)).await;
    }

    pub(crate) async fn get(&self, key: &str, path: &str) -> Value {
        self.api(key, Method::GET, path, Value::Null).await
    }

    /// Uploads a new skill and gives its id.
    pub(crate) async fn upload(&self, key: &str, skill: &SkillFixture) -> String {
        let made = self.upload_to(key, "/v1/skills", skill).await;
        made["id"].as_str().unwrap().to_owned()
    }

    /// Uploads the files of a skill: a new one, or a version of one.
    pub(crate) async fn upload_to(&self, key: &str, path: &str, skill: &SkillFixture) -> Value {
        let name = skill.name().to_owned();
        let form = skill.files().into_iter().fold(Form::new(), |form, file| {
            let part = Part::bytes(file.1.to_vec()).file_name(format!("{name}/{}", file.0));
            form.part("files[]", part)
        });
        read(
            self.request(Method::POST, path)
                .bearer_auth(key)
                .multipart(form),
        )
        .await
    }

    /// A run with a skill, to its end.
    pub(crate) async fn ask(&self, key: &str, skill: &str, prompt: &str) -> Value {
        let body = json!({
            "model": "demo", "max_tokens": 100,
            "container": {"skills": [{"type": "custom", "skill_id": skill}]},
            "tools": [{"type": "code_execution_20260521", "name": "code_execution"}],
            "messages": [{"role": "user", "content": prompt}],
        });
        self.api(key, Method::POST, "/v1/messages", body).await
    }

    /// Ids of the tenant's runs, the latest first, once that many are recorded: records are
    /// written after the response.
    pub(crate) async fn runs(&self, key: &str, count: usize) -> Vec<String> {
        loop {
            let listed = self.get(key, "/v1/runs").await;
            let listed = listed["data"].as_array().unwrap().clone();
            let is_over = |run: &Value| run["status"] != "running";
            if listed.len() >= count && listed.iter().all(is_over) {
                let ids = listed.iter().map(|run| run["id"].as_str().unwrap());
                return ids.map(str::to_owned).collect();
            }
            tokio::task::yield_now().await;
        }
    }

    /// Signs in at the console.
    pub(crate) async fn sign_in(&self, key: &str) -> Session<'_> {
        let request = self.request(Method::POST, "/console/sign-in");
        let request = with_form(request, &[("key", key)]);
        let request = request.header("sec-fetch-site", "same-origin");
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "signing in");
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        Session {
            stage: self,
            cookie: cookie.split(';').next().unwrap().to_owned(),
        }
    }
}

/// The operator's key.
pub(crate) const OPERATOR: &str = MASTER;

async fn read(request: RequestBuilder) -> Value {
    let answer = request
        .header("anthropic-version", "2023-06-01")
        .send()
        .await
        .unwrap();
    let (status, url) = (answer.status(), answer.url().clone());
    let text = answer.text().await.unwrap();
    assert!(status.is_success(), "{url}: {status} {text}");
    serde_json::from_str(&text).unwrap_or_default()
}

/// A form as browsers encode it.
fn with_form(request: RequestBuilder, fields: &[(&str, &str)]) -> RequestBuilder {
    let encode = |text: &str| {
        let bytes = text.bytes().map(|byte| match byte.is_ascii_alphanumeric() {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        });
        bytes.collect::<String>()
    };
    let pairs = fields
        .iter()
        .map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    let body = pairs.collect::<Vec<_>>().join("&");
    request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
}

/// A browser's session at the console, without a browser.
pub(crate) struct Session<'a> {
    stage: &'a Stage,
    pub(crate) cookie: String,
}

/// A response of the console.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }
}

impl Session<'_> {
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.stage.request(Method::GET, path)).await
    }

    /// What a form of a page of the console sends.
    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        let request = with_form(self.stage.request(Method::POST, path), form);
        self.send(request.header("sec-fetch-site", "same-origin"))
            .await
    }

    /// What a form of a page of another site would send.
    pub(crate) async fn post_from(&self, site: &str, path: &str) -> Answer {
        let request = with_form(self.stage.request(Method::POST, path), &[]);
        self.send(request.header("sec-fetch-site", site)).await
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let answer = request.header("cookie", &self.cookie).send().await.unwrap();
        Answer {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            body: answer.bytes().await.unwrap().to_vec(),
        }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.stage.request(method, path)
    }
}
