//! A web site for a test: pages by path, and a log of requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use prowess_skill::Digest;

/// One page.
#[derive(Clone, Default)]
pub(crate) struct Page {
    pub(crate) status: Option<u16>,
    pub(crate) body: Vec<u8>,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Whether it has an ETag and answers 304 to it.
    pub(crate) etag: bool,
}

#[derive(Default)]
struct Shared {
    pages: Mutex<HashMap<String, Page>>,
    log: Mutex<Vec<String>>,
}

/// The site; it stops with the test's runtime.
pub(crate) struct Site {
    url: String,
    shared: Arc<Shared>,
    server: tokio::task::JoinHandle<()>,
}

impl Site {
    pub(crate) async fn start() -> Site {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        let app = Router::new()
            .fallback(serve)
            .with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Site {
            url,
            shared,
            server,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(crate) fn host(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    /// Puts bytes at a path, in place of what was there.
    pub(crate) fn put(&self, path: &str, body: impl Into<Vec<u8>>) {
        let page = Page {
            body: body.into(),
            ..Page::default()
        };
        self.page(path, page);
    }

    pub(crate) fn page(&self, path: &str, page: Page) {
        self.shared
            .pages
            .lock()
            .unwrap()
            .insert(path.to_owned(), page);
    }

    pub(crate) fn redirect(&self, path: &str, to: &str) {
        let page = Page {
            status: Some(302),
            headers: vec![("location", to.to_owned())],
            ..Page::default()
        };
        self.page(path, page);
    }

    /// The requests since the last call, `PATH STATUS` each, sorted.
    pub(crate) fn requested_paths(&self) -> Vec<String> {
        let mut log = std::mem::take(&mut *self.shared.log.lock().unwrap());
        log.sort();
        log
    }

    /// Takes the site off the network.
    pub(crate) async fn stop(&mut self) {
        self.server.abort();
        let _ = (&mut self.server).await;
    }
}

async fn serve(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let page = shared.pages.lock().unwrap().get(&path).cloned();
    let response = match page {
        None => StatusCode::NOT_FOUND.into_response(),
        Some(page) => answer(&page, &request),
    };
    let line = format!("{path} {}", response.status().as_u16());
    shared.log.lock().unwrap().push(line);
    response
}

fn answer(page: &Page, request: &Request) -> Response {
    let etag = format!("\"{}\"", Digest::from_content(&page.body).hex());
    let known = request.headers().get(header::IF_NONE_MATCH);
    let mut response = match page.etag && known.is_some_and(|known| known == etag.as_str()) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => page.body.clone().into_response(),
    };
    if let Some(status) = page.status {
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
    }
    if page.etag {
        response
            .headers_mut()
            .insert(header::ETAG, etag.parse().unwrap());
    }
    for (name, value) in &page.headers {
        response.headers_mut().insert(*name, value.parse().unwrap());
    }
    response
}
