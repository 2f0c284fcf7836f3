//! What it costs to keep a run: the same run in the foreground, kept, and in the background,
//! in turns, on SQLite and PostgreSQL; and in the foreground of other binaries.
//!
//! `cargo xtask bench kept-runs [--against NAME=PATH]`; takes the number of rounds and the
//! database as its arguments, otherwise both databases are measured.
//!
//! | module | owns |
//! |---|---|
//! | `database` | the databases, and how commits are counted |
//! | `mode` | how a run is sent |
//! | `shape` | the runs, and the script of their model |
//! | `measured_server` | a server, and what is measured of it |
//! | `tables` | what is shown |

#![expect(clippy::print_stdout, reason = "its tables are what it is for")]

mod database;
mod measured_server;
mod mode;
mod shape;
mod tables;

use std::time::Duration;

use anyhow::{Context, Result};
use prowess_bench::binaries::{NamedBinary, other_binaries, own_binary};
use prowess_bench::gateway::model::MockModel;
use prowess_bench_report::Report;

use database::Database;
use measured_server::MeasuredServer;
use mode::{POLL_INTERVAL, RunMode};
use shape::{RunShape, RunTool};
use tables::{RunCosts, ShapeCosts};

const ROUNDS: usize = 9;
/// Runs of each kind in a round; of those that take long, fewer.
const BATCH: u32 = 10;
const SLOW_BATCH: u32 = 2;
/// Runs of each kind whose commits are counted.
const COUNTED_RUNS: u32 = 10;
const IDLE_TIME: Duration = Duration::from_secs(5);

fn main() -> Result<()> {
    let rounds = prowess_bench::rounds(ROUNDS)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(rounds))
}

async fn run(rounds: usize) -> Result<()> {
    // No request passes to it: all models are scripted.
    let model = MockModel::start()?;
    let (own, others) = (own_binary()?, other_binaries()?);
    let mut report = Report::default();
    for database in Database::start(std::env::args().nth(2).as_deref())? {
        let mut own = MeasuredServer::start(&own, &database, 0, model.address()).await?;
        let mut others = start_others(&others, &database, &model).await?;
        for server in [&mut own].into_iter().chain(&mut others) {
            let idle = server.measure_idle(IDLE_TIME).await?;
            let (database, name) = (database.name(), &server.name);
            println!("{database}: {name} commits {idle:.1} times a second without any run.\n");
        }
        let mut all = Vec::new();
        for shape in RunShape::all() {
            all.push(measure(shape, &own, &others, rounds).await?);
        }
        let table = |kind: &str| format!("{kind}-{}", database.name().to_lowercase());
        let caption = format!("{}, means of {COUNTED_RUNS} runs.", database.name());
        let commits = tables::commits(&table("commits"), &all).with_caption(caption);
        println!("{}", report.add(commits));
        let caption = format!(
            "{}, medians of {rounds} rounds of {BATCH} runs, or {SLOW_BATCH} of the slow text; in \
             the background with a poll each {} ms, unless streamed.",
            database.name(),
            POLL_INTERVAL.as_millis()
        );
        let times = tables::times(&table("times"), &all).with_caption(caption);
        println!("{}", report.add(times));
        if !others.is_empty() {
            let caption = format!("{}, in the same rounds.", database.name());
            let against = tables::against(&table("against"), &all).with_caption(caption);
            println!("{}", report.add(against));
        }
    }
    report.finish()
}

async fn start_others<'a>(
    binaries: &[NamedBinary],
    database: &'a Database,
    model: &MockModel,
) -> Result<Vec<MeasuredServer<'a>>> {
    let mut servers = Vec::new();
    for (number, binary) in binaries.iter().enumerate() {
        let server = MeasuredServer::start(binary, database, number + 1, model.address()).await;
        servers.push(server.with_context(|| format!("cannot start {}", binary.name))?);
    }
    Ok(servers)
}

/// Measures runs of one shape in all ways, in turns.
async fn measure(
    shape: RunShape,
    own: &MeasuredServer<'_>,
    others: &[MeasuredServer<'_>],
    rounds: usize,
) -> Result<ShapeCosts> {
    let own_cases = RunMode::ALL.map(|mode| (own, mode)).into_iter();
    let other_cases = others.iter().map(|other| (other, RunMode::Foreground));
    let mut cases: Vec<_> = own_cases
        .chain(other_cases)
        .map(|(server, mode)| (server, mode, RunCosts::default()))
        .collect();
    for server in [own].into_iter().chain(others) {
        server.settle().await?;
    }
    for (server, mode, costs) in &mut cases {
        // This warms up, too.
        costs.commits = server.commits(shape, *mode, COUNTED_RUNS).await?;
    }
    let runs = match shape.tool {
        RunTool::None => SLOW_BATCH,
        RunTool::LoadSkill | RunTool::Bash => BATCH,
    };
    for _ in 0..rounds {
        for (server, mode, costs) in &mut cases {
            let batch = server.batch(shape, *mode, runs).await?;
            costs.times.extend(batch.times);
            costs.cpu.push(batch.cpu);
        }
    }
    let mut costs = cases.into_iter().map(|(server, _, costs)| (server, costs));
    let modes = RunMode::ALL.map(|_| costs.next().map(|(_, costs)| costs).unwrap_or_default());
    Ok(ShapeCosts {
        shape,
        modes,
        others: costs
            .map(|(server, costs)| (server.name.clone(), costs))
            .collect(),
    })
}
