//! The noisy tenant: everything at once, as much as it is allowed.
//!
//! One file for each part. Each is bounded in count, and ends when it is stopped or at
//! its deadline.

mod bodies;
mod containers;
mod disk;
mod runs;
mod uploads;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use prowess_bench::server::tenant::BenchTenant;
use prowess_bench::server::{ScriptedCommand, silent};
use prowess_bench::stop::{Stop, StopSource};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::tally::Tally;

/// The noise ends by itself after this long.
const TIME_LIMIT: Duration = Duration::from_secs(400);
/// How long it may take until every part is at work, and until all have ended.
const START_LIMIT: Duration = Duration::from_secs(60);
const END_LIMIT: Duration = Duration::from_secs(180);
/// The server has settled when this many runs in a row take less than this each.
const SETTLED_RUNS: usize = 3;
const SETTLED_TIME: Duration = Duration::from_secs(2);
/// Connections that send nothing, and that send half a request.
const SILENT: usize = 300;
const HALF: usize = 300;
const HALF_REQUEST: &[u8] = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nconte";
/// What is counted for what did not end before the noise.
const UNDER_WAY: &str = "under way at the end";
/// Descriptors this program needs at most.
const DESCRIPTORS: u64 = 4_096;

/// What each part needs.
#[derive(Clone)]
pub(crate) struct NoiseSource {
    tenant: BenchTenant,
    skill: String,
    stop: Stop,
    tally: Arc<Tally>,
}

/// The noise, while it lasts.
pub(crate) struct Noise {
    tenant: BenchTenant,
    skill: String,
    stopper: StopSource,
    parts: JoinSet<()>,
    tally: Arc<Tally>,
}

impl Noise {
    /// Starts all parts on a runtime of their own.
    pub(crate) fn start(runtime: &Runtime, tenant: BenchTenant, skill: String) -> Noise {
        let (stopper, stop) = StopSource::within(TIME_LIMIT);
        let tally = Arc::new(Tally::default());
        let source = NoiseSource {
            tenant: tenant.clone(),
            skill: skill.clone(),
            stop,
            tally: Arc::clone(&tally),
        };
        let mut parts = JoinSet::new();
        let handle = runtime.handle();
        parts.spawn_on(runs::run(source.clone()), handle);
        parts.spawn_on(containers::run(source.clone()), handle);
        parts.spawn_on(disk::run(source.clone()), handle);
        parts.spawn_on(uploads::run(source.clone()), handle);
        parts.spawn_on(bodies::run(source.clone()), handle);
        for (part, count, start) in [
            ("silent connections", SILENT, &b""[..]),
            ("half requests", HALF, HALF_REQUEST),
        ] {
            parts.spawn_on(unfinished(source.clone(), part, count, start), handle);
        }
        Noise {
            tenant,
            skill,
            stopper,
            parts,
            tally,
        }
    }

    /// Waits until the first runs and containers have been answered: by then all parts of
    /// the noise are under way, and more runs wait than the queue takes.
    pub(crate) async fn is_up(&self) -> Result<()> {
        let up = async {
            while self.tally.total(runs::PART) == 0 || self.tally.total(containers::PART) == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let up = tokio::time::timeout(START_LIMIT, up).await;
        up.context("the noise does not start: no run and no container is answered")
    }

    /// Ends all parts, and waits until the server has done with what they left behind.
    pub(crate) async fn stop(mut self) -> Result<Arc<Tally>> {
        self.stopper.stop();
        let ended = async {
            while self.parts.join_next().await.is_some() {}
            self.settle().await;
        };
        let ended = tokio::time::timeout(END_LIMIT, ended).await;
        ensure!(ended.is_ok(), "the noise does not end");
        Ok(self.tally)
    }

    async fn settle(&self) {
        let mut quick = 0;
        while quick < SETTLED_RUNS {
            let start = Instant::now();
            let run = self.tenant.run(&self.skill, ScriptedCommand::Print).await;
            let is_quick = run.is_done() && start.elapsed() < SETTLED_TIME;
            quick = if is_quick { quick + 1 } else { 0 };
        }
    }
}

async fn unfinished(source: NoiseSource, part: &'static str, count: usize, start: &'static [u8]) {
    let opened = silent::hold(source.tenant.endpoint, count, start, source.stop).await;
    source.tally.add(part, "opened", opened);
}

/// Runs `workers` copies of a task, and waits for all of them.
async fn workers<F>(workers: usize, task: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut running = JoinSet::new();
    for _ in 0..workers {
        running.spawn(task());
    }
    while running.join_next().await.is_some() {}
}

/// Many connections need many descriptors.
pub(crate) fn raise_descriptor_limit() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let target = limit.maximum.unwrap_or(u64::MAX).min(DESCRIPTORS);
    if limit.current.is_none_or(|current| current >= target) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(target),
        ..limit
    };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit of descriptors")
}
