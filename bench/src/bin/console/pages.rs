//! The console of a store, and its pages.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use prowess_bench::gateway::request::BenchRequest;
use prowess_bench::server::{BenchServer, ServerSetup};
use serde_json::{Value, json};

use super::fill::FilledStore;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Each page: its name in the table, and its address. `{skill}`, `{run}`, `{key}` and
/// `{container}` stand for ids.
pub(crate) const PAGES: [(&str, &str); 23] = [
    ("skills", "/console/skills"),
    ("skills, search", "/console/skills?q=documents"),
    ("skill", "/console/skills/{skill}"),
    ("skill, files", "/console/skills/{skill}?tab=files"),
    ("skill, versions", "/console/skills/{skill}?tab=versions"),
    ("skill, usage", "/console/skills/{skill}?tab=usage"),
    ("skill, use it", "/console/skills/{skill}?tab=install"),
    ("version", "/console/skills/{skill}/versions/2"),
    (
        "compare two versions",
        "/console/skills/{skill}/compare?from=1&to=2",
    ),
    ("upload", "/console/upload"),
    ("playground", "/console/playground"),
    ("runs", "/console/runs"),
    ("runs, failed", "/console/runs?state=failed"),
    ("run", "/console/runs/{run}"),
    ("containers", "/console/containers"),
    ("container", "/console/containers/{container}"),
    ("usage", "/console/usage"),
    ("usage by skill", "/console/usage?by=skill"),
    ("keys", "/console/keys"),
    ("key", "/console/keys/{key}"),
    ("providers", "/console/providers"),
    ("audit log", "/console/audit"),
    ("settings", "/console/settings"),
];

/// A console that is measured.
pub(crate) struct ServedConsole {
    server: BenchServer,
    filled: FilledStore,
    container: String,
}

impl ServedConsole {
    /// Starts a server on a store that was filled in the folder of its data.
    pub(crate) async fn open(setup: ServerSetup, filled: FilledStore) -> Result<ServedConsole> {
        // No page sends anything to a model.
        let model = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        let server = BenchServer::start(setup, model)?;
        server.sandbox_level().await?;
        let container = create_container(&server).await?;
        Ok(ServedConsole {
            server,
            filled,
            container,
        })
    }

    /// Opens a page to its last byte, and returns how long that took.
    pub(crate) async fn open_page(&self, path: &str) -> Result<Duration> {
        let path = path
            .replace("{skill}", &self.filled.skill)
            .replace("{run}", &self.filled.run)
            .replace("{key}", &self.filled.key)
            .replace("{container}", &self.container);
        let request = BenchRequest::new("GET", &path, "")
            .with_header("accept", "text/html")
            .with_header("accept-encoding", "gzip");
        let endpoint = self.server.endpoint(Ipv4Addr::LOCALHOST);
        let start = Instant::now();
        let response = request.send(&endpoint, TIMEOUT).await?;
        let taken = start.elapsed();
        ensure!(response.status == 200, "{path}: {}", response.status);
        Ok(taken)
    }
}

/// Makes an empty container, and gives its id.
async fn create_container(server: &BenchServer) -> Result<String> {
    let request = BenchRequest::json("/v1/containers", "", &json!({"name": "bench"}));
    let endpoint = server.endpoint(Ipv4Addr::LOCALHOST);
    let response = request.send(&endpoint, TIMEOUT).await?;
    let made = response.json();
    let id = made.as_ref().and_then(|made| made.get("id"));
    let id = id.and_then(Value::as_str).map(str::to_owned);
    id.with_context(|| format!("no container: {} {}", response.status, response.body))
}
