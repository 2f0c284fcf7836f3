//! What the processes of a cluster need: PostgreSQL as it is by default, core NATS, and an
//! object store.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use prowess_bench::gateway::process::{GatewayProcess, free_address};
use prowess_bench::programs;
use prowess_bench::server::object_store::{self, BenchObjectStore};
use prowess_bench::server::postgres::{self, BenchPostgres};

const START_LIMIT: Duration = Duration::from_secs(20);
/// As servers have it by default.
const INLINE_BYTES: u64 = 64 << 10;

/// The running services; they end when this is dropped.
pub(crate) struct ClusterServices {
    pub(crate) postgres: BenchPostgres,
    store: BenchObjectStore,
    nats: Option<GatewayProcess>,
    nats_address: SocketAddr,
}

/// Why this machine cannot have a cluster.
pub(crate) fn missing() -> Option<String> {
    let why = "needs `nats-server`: run `cargo xtask test`, or install Debian's nats-server";
    let nats = nats_program().is_none().then(|| why.to_owned());
    nats.or_else(postgres::missing)
        .or_else(object_store::missing)
}

impl ClusterServices {
    pub(crate) async fn start() -> Result<ClusterServices> {
        let nats_address = free_address()?;
        let mut nats = Command::new(nats_program().context("no nats-server")?);
        nats.args(["--addr", "127.0.0.1", "--port"])
            .arg(nats_address.port().to_string())
            .stderr(Stdio::null());
        Ok(ClusterServices {
            postgres: BenchPostgres::start(&[])?,
            store: BenchObjectStore::start().await?,
            nats: Some(GatewayProcess::start(&mut nats, nats_address, START_LIMIT)?),
            nats_address,
        })
    }

    /// The configuration of a server without a cluster, on this database. The only tenant may
    /// run so many commands at once.
    pub(crate) fn embedded_config(database_url: &str, slots: usize) -> String {
        let sandbox = sandbox_section(slots);
        format!("{sandbox}[store]\nurl = \"{database_url}\"\n")
    }

    /// The configuration of a gateway on this database.
    pub(crate) fn gateway_config(&self, database_url: &str) -> String {
        let blobs = object_store::config(self.store.address(), INLINE_BYTES);
        let cluster = self.cluster_section();
        format!("[store]\nurl = \"{database_url}\"\n{blobs}{cluster}")
    }

    /// The configuration of a worker that runs so many commands at once.
    pub(crate) fn worker_config(&self, slots: usize) -> String {
        let (cluster, sandbox) = (self.cluster_section(), sandbox_section(slots));
        format!("{cluster}[worker]\nslots = {slots}\n{sandbox}")
    }

    fn cluster_section(&self) -> String {
        format!("[cluster]\nnats = \"nats://{}\"\n", self.nats_address)
    }

    /// Ends NATS, for good.
    pub(crate) fn stop_nats(&mut self) {
        self.nats = None;
    }
}

/// By default a tenant leaves one place to others, of each worker too: half of two.
fn sandbox_section(slots: usize) -> String {
    format!("[sandbox]\nreduced = true\ncommands_per_tenant = {slots}\n")
}

/// Installed, or unpacked for the tests.
fn nats_program() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let unpacked = this.ancestors().map(|place| place.join("cluster/usr/sbin"));
    let folders: Vec<_> = unpacked.chain([PathBuf::from("/usr/sbin")]).collect();
    programs::find("nats-server", &folders)
}
