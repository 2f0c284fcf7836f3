//! A real `prowess serve` with a mock model behind it, for benches that ask how it holds
//! up rather than how fast it is.
//!
//! | module | owns |
//! |---|---|
//! | `config` | the server's configuration and the script of its scripted model |
//! | [`object_store`] | a server that speaks S3, for benches that use one |
//! | [`postgres`] | a PostgreSQL server, for benches that use one |
//! | [`outcome`] | what became of a request: done, refused, something else, no answer |
//! | [`silent`] | connections that send nothing, or half a request, and are kept open |
//! | `skill` | small skills, each different from the others |
//! | [`tenant`] | the requests that a tenant sends |

mod config;
pub mod object_store;
pub mod outcome;
pub mod postgres;
pub mod silent;
mod skill;
pub mod tenant;

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::binaries::own_binary;
use crate::gateway::process::{GatewayProcess, free_address};
use crate::gateway::request::{BenchEndpoint, BenchRequest};

pub use config::ScriptedCommand;

/// The key that may do everything; only the server itself is given it.
const MASTER_KEY: &str = "the-master-key-of-these-benches";
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The sandbox tries the host before it runs anything.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// How a server is started.
#[derive(Debug)]
pub struct ServerSetup {
    folder: TempDir,
    /// The binary; otherwise the one that was built with the benchmark.
    pub binary: Option<PathBuf>,
    /// Sections of the configuration beside the providers.
    pub config: String,
    /// The script of the scripted model; otherwise it runs a [`ScriptedCommand`].
    pub script: Option<String>,
    /// How much is logged: `warn`, or `info` for every request.
    pub log: &'static str,
    /// Where the log goes.
    pub stderr: Stdio,
    /// A program and its arguments that run the server, such as `prlimit --nofile=512`.
    pub wrapper: Vec<OsString>,
    /// Whether the wrapper gives the server a mount namespace of its own.
    pub own_mounts: bool,
    /// Whether clients need a key; otherwise the server has no master key, and only clients on
    /// this machine may use it.
    pub needs_key: bool,
}

impl ServerSetup {
    /// With a new data folder, and no log.
    pub fn new() -> Result<ServerSetup> {
        let folder = tempfile::tempdir().context("no temporary folder")?;
        std::fs::create_dir(folder.path().join("data"))?;
        Ok(ServerSetup {
            folder,
            binary: None,
            config: String::new(),
            script: None,
            log: "warn",
            stderr: Stdio::null(),
            wrapper: Vec::new(),
            own_mounts: false,
            needs_key: true,
        })
    }

    /// A place for a file of the bench's own.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder for everything that the server keeps.
    pub fn data_dir(&self) -> PathBuf {
        self.path("data")
    }
}

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct BenchServer {
    process: GatewayProcess,
    binary: PathBuf,
    folder: TempDir,
    own_mounts: bool,
}

impl BenchServer {
    /// Starts a server that has `model` for its upstream, and waits until it listens.
    pub fn start(setup: ServerSetup, model: SocketAddr) -> Result<BenchServer> {
        let address = free_address()?;
        let script = setup.script.as_deref();
        config::write(setup.folder.path(), &setup.config, script, model)?;
        let binary = match &setup.binary {
            Some(binary) => binary.clone(),
            None => own_binary()?.path,
        };
        let mut words = setup.wrapper.clone();
        words.push(binary.clone().into());
        let program = words.remove(0);
        let mut command = Command::new(program);
        command
            .args(words)
            .args(["serve", "--log", setup.log, "--listen"])
            .arg(address.to_string())
            .arg("--config")
            .arg(setup.path(config::CONFIG_FILE))
            .arg("--data-dir")
            .arg(setup.data_dir())
            .env_remove("PROWESS_STORE_URL")
            .stderr(setup.stderr);
        match setup.needs_key {
            true => command.env("PROWESS_MASTER_KEY", MASTER_KEY),
            false => command.env_remove("PROWESS_MASTER_KEY"),
        };
        let process = GatewayProcess::start(&mut command, address, START_TIMEOUT)?;
        // The command keeps a copy of the log's write end.
        drop(command);
        Ok(BenchServer {
            process,
            binary,
            folder: setup.folder,
            own_mounts: setup.own_mounts,
        })
    }

    /// The server as it is reached from an address of the loopback network.
    pub fn endpoint(&self, source: Ipv4Addr) -> BenchEndpoint {
        BenchEndpoint {
            server: self.process.address(),
            source,
        }
    }

    /// Makes a key for a tenant.
    pub fn create_key(&self, tenant: &str) -> Result<String> {
        let binary = &self.binary;
        let mut command = match self.own_mounts {
            false => Command::new(binary),
            true => {
                let namespace = format!("--mount=/proc/{}/ns/mnt", self.process.id());
                let mut command = Command::new("nsenter");
                command.arg(namespace).arg(binary);
                command
            }
        };
        command
            .args(["keys", "create", "bench", "--tenant", tenant, "--config"])
            .arg(self.folder.path().join(config::CONFIG_FILE))
            .arg("--data-dir")
            .arg(self.folder.path().join("data"))
            .env_remove("PROWESS_STORE_URL");
        let output = command.output().context("cannot make a key")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cannot make a key: {errors}");
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// Waits until the sandbox has tried the host, and gives how strong it is.
    pub async fn sandbox_level(&self) -> Result<String> {
        let request = BenchRequest::new("GET", "/healthz", MASTER_KEY);
        let endpoint = self.endpoint(Ipv4Addr::LOCALHOST);
        let start = Instant::now();
        while start.elapsed() < PROBE_TIMEOUT {
            let answer = request.send(&endpoint, START_TIMEOUT).await?;
            let health = answer.json().unwrap_or_default();
            let level = health.get("sandbox").and_then(Value::as_str);
            match level.unwrap_or("unknown") {
                "probing" => tokio::time::sleep(Duration::from_millis(20)).await,
                level => return Ok(level.to_owned()),
            }
        }
        anyhow::bail!(
            "the sandbox is not ready after {} s",
            PROBE_TIMEOUT.as_secs()
        )
    }

    /// How many gateways it knows of its cluster, with itself.
    pub async fn known_gateways(&self) -> Result<usize> {
        let request = BenchRequest::new("GET", "/v1/admin/cluster", MASTER_KEY);
        let endpoint = self.endpoint(Ipv4Addr::LOCALHOST);
        let answer = request.send(&endpoint, START_TIMEOUT).await?;
        let status = answer.json().context("the cluster's status is no JSON")?;
        let gateways = status.get("gateways").and_then(Value::as_array);
        let gateways = gateways.context("the cluster's status has no gateways")?;
        Ok(gateways.len())
    }

    /// Asks it to stop; it finishes what it has, or hands it over.
    pub fn terminate(&self) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.process.id())?);
        kill_process(pid.context("no process id")?, Signal::TERM)?;
        Ok(())
    }

    /// A path as the server sees it, whatever is mounted there for it alone.
    pub fn host_path(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        let root = PathBuf::from(format!("/proc/{}/root", self.process.id()));
        match path.strip_prefix("/") {
            Ok(relative) => root.join(relative),
            Err(_) => path,
        }
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.process.is_running()
    }

    /// The processor time of the server and its children that have not ended.
    pub fn cpu(&self) -> Result<Duration> {
        self.process.cpu()
    }

    /// Bytes of memory the server itself holds, without the processes of its sandbox.
    pub fn memory(&self) -> Option<u64> {
        self.status("VmRSS:")
    }

    /// The most it ever held.
    pub fn peak_memory(&self) -> Option<u64> {
        self.status("VmHWM:")
    }

    fn status(&self, field: &str) -> Option<u64> {
        let status = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(status).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        let kilobytes = line.split_whitespace().next()?;
        Some(kilobytes.parse::<u64>().ok()? * 1024)
    }
}
