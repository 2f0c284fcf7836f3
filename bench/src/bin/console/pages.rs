//! The console of a store, and its pages.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use prowess_bench::gateway::request::BenchRequest;
use prowess_bench::server::{BenchServer, ServerSetup};

use super::fill::FilledStore;

const TIMEOUT: Duration = Duration::from_secs(30);

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
    server: BenchServer,
    filled: FilledStore,
}

impl ServedConsole {
    /// Starts a server on a store that was filled in the folder of its data.
    pub(crate) async fn open(setup: ServerSetup, filled: FilledStore) -> Result<ServedConsole> {
        // No page sends anything to a model.
        let model = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        let server = BenchServer::start(setup, model)?;
        server.sandbox_level().await?;
        Ok(ServedConsole { server, filled })
    }

    /// Opens a page to its last byte, and returns how long that took.
    pub(crate) async fn open_page(&self, path: &str) -> Result<Duration> {
        let path = path
            .replace("{skill}", &self.filled.skill)
            .replace("{run}", &self.filled.run);
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
