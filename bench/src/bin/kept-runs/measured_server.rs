//! A server of one binary on one database, and what is measured of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::Result;
use prowess_bench::binaries::NamedBinary;
use prowess_bench::server::tenant::BenchTenant;
use prowess_bench::server::{BenchServer, ServerSetup};

use super::database::{CommitCounter, Database};
use super::mode::{RunClient, RunMode};
use super::shape::{self, RunShape};

const TENANT: &str = "runs";
const SKILL_NUMBER: usize = 0;
const TIMEOUT: Duration = Duration::from_secs(30);
/// Commits are counted when there was none for this long: usage is written once a second.
const SETTLED_AFTER: Duration = Duration::from_millis(1_500);
const SETTLE_LIMIT: Duration = Duration::from_secs(20);
const SETTLE_INTERVAL: Duration = Duration::from_millis(250);

/// A running server and its client.
pub(crate) struct MeasuredServer<'a> {
    pub(crate) name: String,
    server: BenchServer,
    client: RunClient,
    counter: CommitCounter<'a>,
    /// Commits per second without any run.
    idle_commits: f64,
}

/// Some runs in a row: how long each took, and the mean CPU time of the server.
pub(crate) struct RunBatch {
    pub(crate) times: Vec<Duration>,
    pub(crate) cpu: Duration,
}

impl<'a> MeasuredServer<'a> {
    /// Starts a server of a binary, with an empty database of this number.
    pub(crate) async fn start(
        binary: &NamedBinary,
        database: &'a Database,
        number: usize,
        model: SocketAddr,
    ) -> Result<MeasuredServer<'a>> {
        let mut setup = ServerSetup::new()?;
        setup.binary = Some(binary.path.clone());
        setup.config = format!("[sandbox]\nreduced = true\n{}", database.config(number)?);
        setup.script = Some(shape::script(&format!("bench-{TENANT}-{SKILL_NUMBER}")));
        let counter = database.counter(&setup);
        let server = BenchServer::start(setup, model)?;
        server.sandbox_level().await?;
        let tenant = BenchTenant {
            name: TENANT,
            endpoint: server.endpoint(Ipv4Addr::LOCALHOST),
            key: server.create_key(TENANT)?,
            timeout: TIMEOUT,
        };
        let client = RunClient {
            endpoint: tenant.endpoint,
            skill: tenant.prepare_skill(SKILL_NUMBER).await?,
            key: tenant.key,
        };
        Ok(MeasuredServer {
            name: binary.name.clone(),
            server,
            client,
            counter,
            idle_commits: 0.0,
        })
    }

    /// Runs some, one after the other.
    pub(crate) async fn batch(
        &self,
        shape: RunShape,
        mode: RunMode,
        runs: u32,
    ) -> Result<RunBatch> {
        let before = self.server.cpu()?;
        let mut times = Vec::new();
        for _ in 0..runs {
            times.push(self.client.run(shape, mode).await?);
        }
        let cpu = self.server.cpu()?.saturating_sub(before) / runs.max(1);
        Ok(RunBatch { times, cpu })
    }

    /// The mean number of commits of a run, including those that follow it. Nothing else may
    /// be in progress.
    pub(crate) async fn commits(&self, shape: RunShape, mode: RunMode, runs: u32) -> Result<f64> {
        let (start, before) = (Instant::now(), self.counter.read()?);
        for _ in 0..runs {
            self.client.run(shape, mode).await?;
        }
        self.settle().await?;
        let commits = self.counter.read()?.saturating_sub(before) as f64;
        let idle = self.idle_commits * start.elapsed().as_secs_f64();
        Ok((commits - idle) / f64::from(runs.max(1)))
    }

    /// Measures how often a server commits that has nothing to do, per second: this is not
    /// counted as part of runs.
    pub(crate) async fn measure_idle(&mut self, during: Duration) -> Result<f64> {
        self.settle().await?;
        let before = self.counter.read()?;
        tokio::time::sleep(during).await;
        let commits = self.counter.read()?.saturating_sub(before);
        self.idle_commits = commits as f64 / during.as_secs_f64();
        Ok(self.idle_commits)
    }

    /// Waits until nothing is committed any more, but not for ever: an idle server may commit.
    pub(crate) async fn settle(&self) -> Result<()> {
        let start = Instant::now();
        let (mut last, mut since) = (self.counter.read()?, Instant::now());
        while since.elapsed() < SETTLED_AFTER && start.elapsed() < SETTLE_LIMIT {
            tokio::time::sleep(SETTLE_INTERVAL).await;
            let now = self.counter.read()?;
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
        Ok(())
    }
}
