//! An object store that speaks S3: `moto_server`, behind a relay that can be cut.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use prowess_bench::gateway::process::{GatewayProcess, free_address};
use prowess_bench::gateway::request::{BenchEndpoint, BenchRequest};
use prowess_bench::server::ServerSetup;
use tokio::runtime::Runtime;

use super::relay::Relay;
use prowess_bench::programs;

const BUCKET: &str = "bench";
const START_LIMIT: Duration = Duration::from_secs(60);

/// A running store and the relay before it; both end when this is dropped.
pub(crate) struct FaultS3 {
    pub(crate) relay: Relay,
    _process: GatewayProcess,
}

/// Why there is none on this machine.
pub(crate) fn missing() -> Option<String> {
    let why = "needs `moto_server`, which is neither in test-venv below the target folder nor \
               on the PATH: run `cargo xtask test` or `pip install moto[server]`";
    program().is_none().then(|| why.to_owned())
}

impl FaultS3 {
    /// Starts a store with an empty bucket.
    pub(crate) fn start(runtime: &Runtime) -> Result<FaultS3> {
        let address = free_address()?;
        let mut command = Command::new(program().context("no moto_server")?);
        command
            .args(["-H", "127.0.0.1", "-p", &address.port().to_string()])
            .stderr(Stdio::null());
        let process = GatewayProcess::start(&mut command, address, START_LIMIT)?;
        runtime.block_on(make_bucket(address))?;
        Ok(FaultS3 {
            relay: Relay::start(runtime, address)?,
            _process: process,
        })
    }

    /// A server that keeps all content here.
    pub(crate) fn setup(&self) -> Result<ServerSetup> {
        let mut setup = ServerSetup::new()?;
        setup.config = format!(
            "[sandbox]\nreduced = true\n\
             [blobs]\nurl = \"s3://{BUCKET}/blobs\"\ninline_bytes = 0\n\
             [blobs.options]\naws_endpoint = \"http://{}\"\naws_allow_http = \"true\"\n\
             aws_region = \"us-east-1\"\naws_access_key_id = \"id\"\n\
             aws_secret_access_key = \"secret\"\n",
            self.relay.address()
        );
        Ok(setup)
    }
}

async fn make_bucket(server: SocketAddr) -> Result<()> {
    let endpoint = BenchEndpoint {
        server,
        source: Ipv4Addr::LOCALHOST,
    };
    let request = BenchRequest::new("PUT", &format!("/{BUCKET}"), "none");
    let answer = request.send(&endpoint, START_LIMIT).await?;
    ensure!(answer.status == 200, "no bucket: {}", answer.body);
    Ok(())
}

/// In the Python environment of the tests, or on the PATH.
fn program() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let target = this.ancestors();
    let folders: Vec<_> = target.map(|folder| folder.join("test-venv/bin")).collect();
    programs::find("moto_server", &folders)
}
