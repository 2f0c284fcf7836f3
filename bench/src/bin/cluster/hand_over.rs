//! How long kept runs have no gateway when theirs stops: from the signal until others have all of
//! them, by the database's own account.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use prowess_bench::server::postgres::BenchPostgres;
use prowess_bench::{median, millis};
use prowess_bench_report::{Cell, Column, Table};

use super::fleet::BenchFleet;
use super::services::ClusterServices;

/// Gateways that are stopped, one after the other.
const ROUNDS: usize = 5;
/// Runs of each, in the middle of a command.
const RUNS: usize = 4;
/// How long a hand-over may take. Without one, runs wait for the end of a lease of 15 s.
const MAX_MILLIS: f64 = 1_000.0;
/// How long runs may take to begin, and to end.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Until the database's client watches, and the commands run.
const BEGINNING: Duration = Duration::from_millis(500);

/// Stops gateways that have kept runs.
pub(crate) async fn measure(
    services: &ClusterServices,
    cluster: &BenchFleet,
    model: SocketAddr,
) -> Result<Table> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        times.push(round(services, cluster, model).await?);
    }
    let columns = [
        Column::number("median", "ms", 0),
        Column::number("slowest", "ms", 0),
        Column::bar(),
    ];
    let mut table = Table::new("hand-over", columns).with_corner("a gateway stops");
    let slowest = times.iter().max().copied().unwrap_or_default();
    let numbers = [median(&times).unwrap_or_default(), slowest];
    let numbers = numbers.map(|time| Some(Cell::from(millis(time))));
    let bar = Some(Cell::at_most(MAX_MILLIS));
    let name = "until others have all of its runs";
    table.push(name, numbers.into_iter().chain([bar]));
    let caption = format!(
        "{ROUNDS} gateways, one after the other, with {RUNS} kept runs each that are in the middle \
         of a command; all of them completed."
    );
    Ok(table.with_caption(caption))
}

/// Starts one more gateway, gives it runs and stops it.
async fn round(
    services: &ClusterServices,
    cluster: &BenchFleet,
    model: SocketAddr,
) -> Result<Duration> {
    let leaving = cluster.another_gateway(services, model)?;
    // It hands over only to gateways that it knows.
    let known = cluster.servers.len() + 1;
    let started = Instant::now();
    while leaving.known_gateways().await? < known {
        ensure!(started.elapsed() < PATIENCE, "a gateway knows no other one");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    cluster.begin_kept_runs(&leaving, RUNS).await?;
    let postgres = &services.postgres;
    let under_way = "state = 'running' AND owner IS NOT NULL AND next_step > 0";
    wait_for_count(postgres, cluster, under_way, RUNS).await?;
    let owners = "SELECT string_agg(DISTINCT owner, ' ') FROM journal_runs WHERE ended_at IS NULL";
    let owner = postgres.query_in(cluster.name, owners)?;
    ensure!(!owner.contains(' '), "other gateways have runs: {owner}");
    let is_without = format!("ended_at IS NULL AND (owner IS NULL OR owner = '{owner}')");
    let watch = format!(
        "DO $$ BEGIN WHILE EXISTS (SELECT 1 FROM journal_runs WHERE {is_without}) \
         LOOP PERFORM pg_sleep(0.002); END LOOP; END $$"
    );
    let took = thread::scope(|scope| {
        let watching = scope.spawn(|| postgres.query_in(cluster.name, &watch));
        thread::sleep(BEGINNING);
        let stopped = Instant::now();
        leaving.terminate()?;
        let watched = watching.join();
        watched.map_err(|_| anyhow!("nobody watched the runs"))??;
        anyhow::Ok(stopped.elapsed())
    })?;
    wait_for_count(postgres, cluster, "ended_at IS NULL", 0).await?;
    // The first gateway of a run has its first epoch.
    let failed = count(postgres, cluster, "state <> 'completed' OR epoch < 2")?;
    ensure!(failed == 0, "{failed} runs were lost or not handed over");
    Ok(took)
}

async fn wait_for_count(
    postgres: &BenchPostgres,
    cluster: &BenchFleet,
    condition: &str,
    expected: usize,
) -> Result<()> {
    let started = Instant::now();
    while count(postgres, cluster, condition)? != expected {
        ensure!(started.elapsed() < PATIENCE, "not {expected}: {condition}");
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Kept runs of which something is true.
fn count(postgres: &BenchPostgres, cluster: &BenchFleet, condition: &str) -> Result<usize> {
    let query = format!("SELECT COUNT(*) FROM journal_runs WHERE {condition}");
    let counted = postgres.query_in(cluster.name, &query)?;
    counted.parse().context("no number of runs")
}
