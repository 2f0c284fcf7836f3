//! Servers under measurement: one by itself, and gateways with workers.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use prowess_bench::binaries::own_binary;
use prowess_bench::gateway::process::{GatewayProcess, free_address};
use prowess_bench::server::tenant::BenchTenant;
use prowess_bench::server::{BenchServer, ScriptedCommand, ServerSetup};
use tempfile::TempDir;

use super::services::ClusterServices;

const TENANT: &str = "cluster";
const TIMEOUT: Duration = Duration::from_secs(60);
const START_LIMIT: Duration = Duration::from_secs(30);

/// A worker; it ends when this is dropped.
pub(crate) struct BenchWorker {
    pub(crate) process: GatewayProcess,
    _folder: TempDir,
}

/// Bytes that a worker holds, by itself and with its children.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerMemory {
    pub(crate) own: u64,
    pub(crate) with_children: u64,
}

/// Some servers over one database, and the workers of those that have any.
pub(crate) struct BenchFleet {
    pub(crate) name: &'static str,
    pub(crate) servers: Vec<BenchServer>,
    pub(crate) workers: Vec<BenchWorker>,
    /// Of the first worker, before any command.
    pub(crate) idle_worker: Option<WorkerMemory>,
    database_url: String,
    key: String,
    skill: String,
}

impl BenchFleet {
    /// One server with its own sandbox, that runs so many commands at once.
    pub(crate) async fn embedded(
        services: &ClusterServices,
        model: SocketAddr,
        slots: usize,
    ) -> Result<BenchFleet> {
        let url = services.postgres.create_database("embedded")?;
        let mut setup = ServerSetup::new()?;
        setup.config = ClusterServices::embedded_config(&url, slots);
        let server = BenchServer::start(setup, model)?;
        server.sandbox_level().await?;
        BenchFleet::prepared("embedded", url, vec![server], Vec::new()).await
    }

    /// Gateways and workers of so many slots.
    pub(crate) async fn cluster(
        services: &ClusterServices,
        model: SocketAddr,
        gateways: usize,
        workers: usize,
        slots: usize,
    ) -> Result<BenchFleet> {
        let url = services.postgres.create_database("cluster")?;
        let config = services.worker_config(slots);
        let workers = (1..=workers).map(|number| BenchWorker::start(number, &config));
        let workers = workers.collect::<Result<Vec<_>>>()?;
        let mut servers = Vec::new();
        for _ in 0..gateways {
            servers.push(start_gateway(services, &url, model)?);
        }
        BenchFleet::prepared("cluster", url, servers, workers).await
    }

    /// With a key, a skill, and a command that has been run by each server.
    async fn prepared(
        name: &'static str,
        database_url: String,
        servers: Vec<BenchServer>,
        workers: Vec<BenchWorker>,
    ) -> Result<BenchFleet> {
        let first = servers.first().context("no server")?;
        let mut fleet = BenchFleet {
            key: first.create_key(TENANT)?,
            name,
            servers,
            workers,
            idle_worker: None,
            database_url,
            skill: String::new(),
        };
        // By now it has announced itself, and waits.
        if let Some(worker) = fleet.workers.first() {
            fleet.idle_worker = Some(WorkerMemory {
                own: worker.process.own_memory()?,
                with_children: worker.process.memory()?,
            });
        }
        fleet.skill = fleet.tenant(0)?.prepare_skill(0).await?;
        for number in 0..fleet.servers.len() {
            fleet.new_container(number).await?;
        }
        Ok(fleet)
    }

    /// A client of the server with this number, counted round and round.
    pub(crate) fn tenant(&self, number: usize) -> Result<BenchTenant> {
        let servers = self.servers.len().max(1);
        let server = self.servers.get(number % servers).context("no server")?;
        Ok(self.tenant_of(server))
    }

    fn tenant_of(&self, server: &BenchServer) -> BenchTenant {
        BenchTenant {
            name: TENANT,
            endpoint: server.endpoint(Ipv4Addr::LOCALHOST),
            key: self.key.clone(),
            timeout: TIMEOUT,
        }
    }

    /// One more gateway, which is not a part of this.
    pub(crate) fn another_gateway(
        &self,
        services: &ClusterServices,
        model: SocketAddr,
    ) -> Result<BenchServer> {
        start_gateway(services, &self.database_url, model)
    }

    /// Begins kept runs at this gateway, each with a command of some seconds in a new container.
    pub(crate) async fn begin_kept_runs(&self, gateway: &BenchServer, count: usize) -> Result<()> {
        let tenant = self.tenant_of(gateway);
        for _ in 0..count {
            let began = tenant.begin_kept_run(&self.skill, ScriptedCommand::Pause);
            let began = began.await;
            let (class, reason) = (began.class(), began.reason());
            ensure!(began.is_done(), "no kept run: {class} {reason}");
        }
        Ok(())
    }

    /// Runs a command in a new container with a skill, at this server; returns the container.
    pub(crate) async fn new_container(&self, number: usize) -> Result<String> {
        let tenant = self.tenant(number)?;
        let ran = tenant.run(&self.skill, ScriptedCommand::Note).await;
        ran.text("/container/id").with_context(|| {
            let (class, reason) = (ran.class(), ran.reason());
            format!("{}: no container: {class} {reason}", self.name)
        })
    }

    /// Bytes that the servers hold, without their children.
    pub(crate) fn server_memory(&self) -> u64 {
        self.servers.iter().filter_map(BenchServer::memory).sum()
    }

    /// Bytes that the workers hold, without their children.
    pub(crate) fn worker_memory(&self) -> Result<u64> {
        let each = self.workers.iter();
        each.map(|worker| worker.process.own_memory()).sum()
    }
}

fn start_gateway(
    services: &ClusterServices,
    database_url: &str,
    model: SocketAddr,
) -> Result<BenchServer> {
    let mut setup = ServerSetup::new()?;
    setup.config = services.gateway_config(database_url);
    BenchServer::start(setup, model)
}

impl BenchWorker {
    fn start(number: usize, config: &str) -> Result<BenchWorker> {
        let folder = tempfile::tempdir().context("no temporary folder")?;
        let file = folder.path().join("worker.toml");
        std::fs::write(&file, config)?;
        let address = free_address()?;
        let mut command = Command::new(own_binary()?.path);
        command
            .args(["worker", "--id", &format!("worker-{number}"), "--config"])
            .arg(file)
            .arg("--state")
            .arg(folder.path().join("state"))
            .args(["--listen", &address.to_string()])
            .stderr(Stdio::null());
        Ok(BenchWorker {
            process: GatewayProcess::start(&mut command, address, START_LIMIT)?,
            _folder: folder,
        })
    }
}
