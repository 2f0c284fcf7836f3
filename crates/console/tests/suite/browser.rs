//! A console in this process, and a browser that has no scripts.

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use prowess_provider::Providers;
use prowess_provider::config::{
    ModelConfig, Price, ProviderConfig, ProviderKind, ProvidersConfig, ScriptedOptions,
};
use prowess_server::{App, HttpService, ServerSettings};
use prowess_store::{Store, StoreConfig};
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt as _;

/// Loads the skill if there is one, and answers. Whatever it writes is hostile.
const SCRIPT: &str = r#"
[[step]]
when.user = "slowly"
text = "One word after the other, and never a last one, for as long as somebody waits."
pace = { chunk = 1, delay_ms = 500 }

[[step]]
when.user = "fail"
error = { status = 400, message = "the model <b>refuses</b> this" }

[[step]]
when.user = "card"
when.turn = 1
text = "Let me <i>see</i>."
calls = [{ name = "load_skill", input = { name = "greeter" } }]

[[step]]
text = "You wrote: {{user}} <script>alert(1)</script>"
"#;

/// A console over a server of its own.
pub(crate) struct Console {
    pub(crate) app: App,
    router: Router,
    _folder: TempDir,
}

/// What a browser gets.
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Console {
    /// Of a server without keys, which lets everybody on its machine in.
    pub(crate) async fn start() -> Console {
        Console::with(ServerSettings::default()).await
    }

    pub(crate) async fn with(settings: ServerSettings) -> Console {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path())).await;
        let settings = ServerSettings {
            providers: Some(providers()),
            ..settings
        };
        let app = App::new(store.unwrap(), settings);
        Console {
            router: prowess_console::router(&app),
            app,
            _folder: folder,
        }
    }

    /// The same store behind a server with other settings.
    pub(crate) fn restart(self, settings: ServerSettings) -> Console {
        let app = App::new(self.app.store().clone(), settings);
        Console {
            router: prowess_console::router(&app),
            app,
            _folder: self._folder,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Page {
        self.send(Method::GET, path, &[], Body::empty()).await
    }

    pub(crate) async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Page {
        self.send(Method::GET, path, headers, Body::empty()).await
    }

    /// A form as a page of the console sends it.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let mut form = form_urlencoded::Serializer::new(String::new());
        let form = form.extend_pairs(fields).finish();
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("sec-fetch-site", "same-origin"),
        ];
        self.send(Method::POST, path, &headers, form).await
    }

    /// A form with files: name of the field, name of the file, content.
    pub(crate) async fn post_multipart(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        files: &[(&str, &str, &[u8])],
    ) -> Page {
        let body = multipart(fields, files);
        let headers = [
            ("content-type", "multipart/form-data; boundary=XX"),
            ("sec-fetch-site", "same-origin"),
        ];
        self.send(Method::POST, path, &headers, body).await
    }

    /// The same with a cookie, and without fields.
    pub(crate) async fn post_multipart_with(
        &self,
        path: &str,
        cookie: &str,
        files: &[(&str, &str, &[u8])],
    ) -> Page {
        let headers = [
            ("content-type", "multipart/form-data; boundary=XX"),
            ("sec-fetch-site", "same-origin"),
            ("cookie", cookie),
        ];
        let body = multipart(&[], files);
        self.send(Method::POST, path, &headers, body).await
    }

    /// A request whose headers name the host.
    pub(crate) async fn send_at(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Page {
        let request = build_at(method, path, headers, body.into());
        Page::read(self.router.clone().oneshot(request).await.unwrap()).await
    }

    pub(crate) async fn get_at(&self, path: &str, headers: &[(&str, &str)]) -> Page {
        self.send_at(Method::GET, path, headers, Body::empty())
            .await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Page {
        let request = build(method, path, headers, body.into());
        Page::read(self.router.clone().oneshot(request).await.unwrap()).await
    }

    /// A request to the API of the same server.
    pub(crate) async fn api(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Page {
        let request = build(method, path, headers, body.into());
        Page::read(self.app.service().oneshot(request).await.unwrap()).await
    }
}

/// A request to a whole server.
pub(crate) async fn request(
    service: &HttpService,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
) -> Page {
    let request = build(method, path, headers, Body::empty());
    Page::read(service.clone().oneshot(request).await.unwrap()).await
}

/// A form with files: name of the field, name of the file, content.
fn multipart(fields: &[(&str, &str)], files: &[(&str, &str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        let head = format!("--XX\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(value.as_bytes());
        body.extend_from_slice(b"\r\n");
    }
    for (field, name, content) in files {
        let head = format!(
            "--XX\r\ncontent-disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
             content-type: application/octet-stream\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--XX--\r\n");
    body
}

fn build(method: Method, path: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
    let host = [("host", "localhost:4141")];
    let headers: Vec<_> = host.iter().chain(headers).copied().collect();
    build_at(method, path, &headers, body)
}

fn build_at(method: Method, path: &str, headers: &[(&str, &str)], body: Body) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body).unwrap()
}

impl Page {
    async fn read(response: http::Response<Body>) -> Page {
        let (parts, body) = response.into_parts();
        Page {
            status: parts.status,
            headers: parts.headers,
            body: axum::body::to_bytes(body, usize::MAX).await.unwrap(),
        }
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// The page itself, without what all pages have around it.
    pub(crate) fn main(&self) -> &str {
        let text = self.text();
        let from = text
            .find("<main")
            .unwrap_or_else(|| panic!("no page: {text}"));
        let to = text.find("</main>").unwrap();
        &text[from..to]
    }
}

fn providers() -> Providers {
    let script = ScriptedOptions::Text(SCRIPT.to_owned());
    Providers::new(ProvidersConfig {
        providers: vec![ProviderConfig::new("stage", ProviderKind::new(script))],
        models: vec![
            ModelConfig {
                price: Some(Price {
                    input: 3.0,
                    output: 15.0,
                    ..Price::default()
                }),
                ..ModelConfig::new("hero", "stage")
            },
            ModelConfig::new("second", "stage"),
        ],
        ..ProvidersConfig::default()
    })
    .unwrap()
}
