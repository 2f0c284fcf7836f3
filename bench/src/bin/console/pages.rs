//! The console of a store, and its pages.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use prowess_server::{App, HttpService, ServerSettings};
use prowess_store::{Store, StoreConfig};
use tower::ServiceExt as _;

use super::fill::FilledStore;

/// Each page: its name in the table, and its address. `{skill}` and `{run}` stand for ids.
pub(crate) const PAGES: [(&str, &str); 17] = [
    ("skills", "/console/skills"),
    ("skills, search", "/console/skills?q=documents"),
    ("skill", "/console/skills/{skill}"),
    ("skill, files", "/console/skills/{skill}?tab=files"),
    ("skill, usage", "/console/skills/{skill}?tab=usage"),
    ("upload", "/console/upload"),
    ("playground", "/console/playground"),
    ("runs", "/console/runs"),
    ("runs, failed", "/console/runs?state=failed"),
    ("run", "/console/runs/{run}"),
    ("containers", "/console/containers"),
    ("usage", "/console/usage"),
    ("usage by skill", "/console/usage?by=skill"),
    ("keys", "/console/keys"),
    ("providers", "/console/providers"),
    ("audit log", "/console/audit"),
    ("settings", "/console/settings"),
];

/// A console that is measured.
pub(crate) struct ServedConsole {
    service: HttpService,
    filled: FilledStore,
}

impl ServedConsole {
    pub(crate) async fn open(filled: FilledStore) -> Result<ServedConsole> {
        let store = Store::open(&StoreConfig::local(&filled.folder)).await?;
        let app = App::new(store, ServerSettings::default());
        let pages = prowess_console::router(&app);
        Ok(ServedConsole {
            service: app.service_with_pages(Some(pages)),
            filled,
        })
    }

    /// Opens a page to its last byte, and returns how long that took.
    pub(crate) async fn open_page(&self, path: &str) -> Result<Duration> {
        let path = path
            .replace("{skill}", &self.filled.skill)
            .replace("{run}", &self.filled.run);
        let request = Request::get(&path)
            .header("host", "127.0.0.1")
            .header("accept", "text/html")
            .header("accept-encoding", "gzip")
            .body(Body::empty())?;
        let start = Instant::now();
        let response = self.service.clone().oneshot(request).await?;
        let status = response.status();
        response.into_body().collect().await?;
        ensure!(status.is_success(), "{path}: {status}");
        Ok(start.elapsed())
    }
}
