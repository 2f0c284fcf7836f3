//! How many requests with a command a machine answers: by one server, and by a cluster of
//! processes on the same cores.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use prowess_bench::server::ScriptedCommand;
use prowess_bench_report::{Cell, Column, Table};

use super::fleet::BenchFleet;

/// Clients at once, each with a container of its own.
const CLIENTS: usize = 8;
const ROUND_TIME: Duration = Duration::from_secs(5);
/// What the ratio should be at least.
const MIN_RATIO: f64 = 0.9;

/// Measures both in turns.
pub(crate) async fn measure(
    embedded: &BenchFleet,
    cluster: &BenchFleet,
    rounds: usize,
) -> Result<Table> {
    let columns = [
        Column::number("embedded", "/s", 1),
        Column::number("cluster", "/s", 1),
        Column::number("cluster of embedded", "×", 2),
    ];
    let mut table = Table::new("throughput", columns).with_corner("requests with a command");
    let own = containers(embedded).await?;
    let remote = containers(cluster).await?;
    for (name, command) in [
        ("prints", ScriptedCommand::Print),
        ("writes a file as it was", ScriptedCommand::Note),
        ("changes a file", ScriptedCommand::Change),
        ("about 200 ms of processor time", ScriptedCommand::Count),
    ] {
        let (mut local, mut away) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            local.push(round(embedded, &own, command).await?);
            away.push(round(cluster, &remote, command).await?);
        }
        let (local, away) = (middle(local), middle(away));
        let ratio = away / local.max(f64::MIN_POSITIVE);
        let numbers = [local, away, ratio].map(|number| Some(Cell::from(number)));
        table.push(name, numbers);
    }
    let (servers, workers) = (cluster.servers.len(), cluster.workers.len());
    let caption = format!(
        "{CLIENTS} clients; {servers} gateways and {workers} workers; medians of {rounds} rounds \
         of {} s, in turns. The ratio should be at least {MIN_RATIO}.",
        ROUND_TIME.as_secs()
    );
    Ok(table.with_caption(caption))
}

async fn containers(fleet: &BenchFleet) -> Result<Vec<String>> {
    let mut made = Vec::new();
    for number in 0..CLIENTS {
        made.push(fleet.new_container(number).await?);
    }
    Ok(made)
}

/// Requests per second of all clients together.
async fn round(fleet: &BenchFleet, containers: &[String], command: ScriptedCommand) -> Result<f64> {
    let start = Instant::now();
    let clients = containers.iter().enumerate();
    let clients = clients.map(|(number, container)| async move {
        let tenant = fleet.tenant(number)?;
        let mut done = 0_u32;
        while start.elapsed() < ROUND_TIME {
            let outcome = tenant.command(container, command).await;
            let (name, class, reason) = (fleet.name, outcome.class(), outcome.reason());
            ensure!(outcome.is_done(), "{name}: {class} {reason}");
            done += 1;
        }
        anyhow::Ok(done)
    });
    let done: u32 = try_join_all(clients).await?.into_iter().sum();
    Ok(f64::from(done) / start.elapsed().as_secs_f64())
}

fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}
