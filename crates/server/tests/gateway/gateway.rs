//! A gateway in this process, with a mock upstream.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use prowess_engine::EngineSettings;
use prowess_provider::config::{
    AnthropicOptions, GeminiOptions, ModelConfig, OpenAiOptions, Policies, Price, ProviderConfig,
    ProviderKind, ProvidersConfig, RetryPolicy, ScriptedOptions,
};
use prowess_provider::{Env, Providers};
use prowess_server::{App, HttpService, ServerSettings};
use prowess_store::{KeyLimits, KeyScope, NewKey, Store, StoreConfig, TenantId};
use prowess_testkit::upstream::MockUpstream;
use prowess_wire::ClientDialect;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

/// The key that the upstreams expect.
pub(crate) const KEY: &str = "sk-of-the-gateway-0123";

const SCRIPT: &str = r#"
[[step]]
when.user = "fail"
error = { status = 529, message = "too much to do" }

[[step]]
when.user = "break"
text = "This goes well at first."
pace = { chunk = 4 }
error = { status = 500, message = "and then it does not", after = 3 }

[[step]]
text = "You said: {{user}}"
"#;

pub(crate) struct Gateway {
    pub(crate) app: App,
    pub(crate) upstream: Arc<MockUpstream>,
    front: HttpService,
    folder: Arc<TempDir>,
}

pub(crate) struct ClientResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Gateway {
    pub(crate) async fn start() -> Gateway {
        Gateway::with(ServerSettings::default()).await
    }

    pub(crate) async fn with(settings: ServerSettings) -> Gateway {
        let upstream = Arc::new(MockUpstream::start().await);
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Gateway::at(folder, upstream, settings).await
    }

    /// Another server with the same store and upstream.
    pub(crate) async fn restarted(&self) -> Gateway {
        self.restarted_with(EngineSettings::default()).await
    }

    /// The same with other settings of runs.
    pub(crate) async fn restarted_with(&self, runs: EngineSettings) -> Gateway {
        let (folder, upstream) = (self.folder.clone(), self.upstream.clone());
        let settings = ServerSettings {
            runs,
            ..ServerSettings::default()
        };
        Gateway::at(folder, upstream, settings).await
    }

    /// Another server with the same store and upstream, and with these settings.
    pub(crate) async fn beside(&self, settings: ServerSettings) -> Gateway {
        Gateway::at(self.folder.clone(), self.upstream.clone(), settings).await
    }

    async fn at(
        folder: Arc<TempDir>,
        upstream: Arc<MockUpstream>,
        settings: ServerSettings,
    ) -> Gateway {
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let settings = ServerSettings {
            providers: settings
                .providers
                .or_else(|| Some(providers(upstream.url()))),
            ..settings
        };
        let app = App::new(store.unwrap(), settings);
        Gateway {
            front: app.service(),
            app,
            upstream,
            folder,
        }
    }

    /// A request as the client's SDK sends it.
    pub(crate) async fn post(&self, path: &str, body: impl Into<Body>) -> ClientResponse {
        self.send(path, &[], body).await
    }

    pub(crate) async fn send(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> ClientResponse {
        let mut request = Request::builder()
            .method("POST")
            .uri(path)
            .header("host", "localhost")
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.call(request.body(body.into()).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> ClientResponse {
        let mut request = Request::builder().uri(path).header("host", "localhost");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.call(request.body(Body::empty()).unwrap()).await
    }

    /// A request with exactly these headers.
    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> ClientResponse {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers.iter().chain(&[("host", "localhost")]) {
            request = request.header(*name, *value);
        }
        self.call(request.body(body.into()).unwrap()).await
    }

    pub(crate) async fn delete(&self, path: &str, headers: &[(&str, &str)]) -> ClientResponse {
        let mut request = Request::builder().method("DELETE").uri(path);
        for (name, value) in headers.iter().chain(&[("host", "localhost")]) {
            request = request.header(*name, *value);
        }
        self.call(request.body(Body::empty()).unwrap()).await
    }

    /// A key of a tenant.
    pub(crate) async fn key(&self, tenant: &str, scope: KeyScope, limits: &KeyLimits) -> String {
        let tenant = TenantId::new(tenant).unwrap();
        let store = self.app.store();
        store.ensure_tenant(&tenant, "").await.unwrap();
        let new = NewKey {
            name: "test",
            scopes: &[scope],
            expires_in: None,
            auto: None,
        };
        let made = store.create_limited_key(&tenant, &new, limits).await;
        made.unwrap().1.reveal().to_owned()
    }

    async fn call(&self, request: Request<Body>) -> ClientResponse {
        let response = self.front.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        ClientResponse {
            status: parts.status,
            headers: parts.headers,
            body: axum::body::to_bytes(body, usize::MAX).await.unwrap(),
        }
    }
}

impl ClientResponse {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The code of an error in OpenAI's format.
    pub(crate) fn code(&self) -> String {
        let code = &self.json()["error"]["code"];
        code.as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Status, type and body, with times and request ids masked.
    pub(crate) fn render(&self) -> String {
        let kind = self.header("content-type").unwrap_or_default();
        let body = match serde_json::from_slice::<Value>(&self.body) {
            Ok(value) => serde_json::to_string_pretty(&value).unwrap(),
            Err(_) => self.text().to_owned(),
        };
        format!("{} {kind}\n{}", self.status.as_u16(), masked(&body))
    }
}

/// Masks numbers as long as a time, and what follows `req_`.
pub(crate) fn masked(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let mask = |word: &str| {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let rest = &word[bare.len()..];
        if bare.len() == 10 && bare.bytes().all(|b| b.is_ascii_digit()) {
            format!("TIME{rest}")
        } else if bare.starts_with("req_") && bare.len() == 28 {
            format!("req_…{rest}")
        } else if let Some((prefix, number)) = split_own_id(bare) {
            format!("{prefix}_…{number}{rest}")
        } else {
            word.to_owned()
        }
    };
    words.map(mask).collect()
}

/// An id generated by Prowess: a prefix, 32 random digits, and perhaps a number.
fn split_own_id(word: &str) -> Option<(&str, &str)> {
    let (prefix, rest) = word.split_once('_')?;
    let hex = rest.get(..32)?;
    let made = hex.bytes().all(|b| b.is_ascii_hexdigit());
    made.then(|| (prefix, &rest[32..]))
}

pub(crate) fn path(client: ClientDialect) -> &'static str {
    match client {
        ClientDialect::Messages => "/v1/messages",
        ClientDialect::Chat => "/v1/chat/completions",
        ClientDialect::Responses => "/v1/responses",
        ClientDialect::Gemini => panic!("its path names the model"),
    }
}

/// One vendor of each kind at the same address, and a scripted model.
pub(crate) fn providers(url: &str) -> Providers {
    let policies = Policies {
        retry: RetryPolicy {
            max_attempts: 2,
            first_delay: Duration::from_millis(1),
            max_delay: Duration::from_millis(1),
            ..RetryPolicy::default()
        },
        ..Policies::default()
    };
    let at = |name: &str, kind: ProviderKind, base: String| ProviderConfig {
        policies: policies.clone(),
        allow_client_key: name == "open",
        ..ProviderConfig::new(name, kind)
            .with_base_url(base)
            .with_api_key(KEY)
    };
    let anthropic = || ProviderKind::new(AnthropicOptions::default());
    let openai = |responses| ProviderKind::new(OpenAiOptions { responses });
    let script = ScriptedOptions::Text(SCRIPT.to_owned());
    let gemini = ProviderKind::new(GeminiOptions::default());
    let vendors = [
        at("ant", anthropic(), url.to_owned()),
        at("open", anthropic(), url.to_owned()),
        at("oai", openai(Some(false)), format!("{url}/v1")),
        at("rsp", openai(Some(true)), format!("{url}/v1")),
        ProviderConfig::new("stage", ProviderKind::new(script)),
        at("gem", gemini, url.to_owned()),
    ];
    Providers::new(ProvidersConfig {
        providers: vendors.into_iter().collect(),
        models: vec![
            ModelConfig {
                price: Some(Price {
                    input: 3.0,
                    output: 15.0,
                    ..Price::default()
                }),
                ..ModelConfig::new("small", "ant").with_upstream_model("m1")
            },
            ModelConfig::new("patient", "oai")
                .with_upstream_model("m1")
                .with_fallbacks(["stage/hero"]),
            ModelConfig::new("wild-*", "oai"),
            ModelConfig::new("mixed-*", "rsp").with_fallbacks(["stage/hero"]),
        ],
        env: Env::from_pairs([]),
        ..ProvidersConfig::default()
    })
    .unwrap()
}
