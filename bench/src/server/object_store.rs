//! An object store that speaks S3: `moto_server`, which keeps everything in memory.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::gateway::process::{GatewayProcess, free_address};
use crate::gateway::request::{BenchEndpoint, BenchRequest};
use crate::programs;

const BUCKET: &str = "bench";
const START_LIMIT: Duration = Duration::from_secs(60);

/// A running store with an empty bucket; it ends when this is dropped.
#[derive(Debug)]
pub struct BenchObjectStore(GatewayProcess);

/// Why there is none on this machine.
pub fn missing() -> Option<String> {
    let why = "needs `moto_server`, which is neither in test-venv below the target folder nor \
               on the PATH: run `cargo xtask test` or `pip install moto[server]`";
    program().is_none().then(|| why.to_owned())
}

impl BenchObjectStore {
    /// Starts a store.
    pub async fn start() -> Result<BenchObjectStore> {
        let address = free_address()?;
        let mut command = Command::new(program().context("no moto_server")?);
        command
            .args(["-H", "127.0.0.1", "-p", &address.port().to_string()])
            .stderr(Stdio::null());
        let process = GatewayProcess::start(&mut command, address, START_LIMIT)?;
        make_bucket(address).await?;
        Ok(BenchObjectStore(process))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

/// The configuration of a server that reaches a store at this address. Content of so many bytes
/// stays in the database.
pub fn config(address: SocketAddr, inline_bytes: u64) -> String {
    format!(
        "[blobs]\nurl = \"s3://{BUCKET}/blobs\"\ninline_size = {inline_bytes}\n\
         [blobs.options]\naws_endpoint = \"http://{address}\"\naws_allow_http = \"true\"\n\
         aws_region = \"us-east-1\"\naws_access_key_id = \"id\"\n\
         aws_secret_access_key = \"secret\"\n"
    )
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
