//! How long a request with one command takes: on the server itself, and by a worker.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use prowess_bench::server::ScriptedCommand;
use prowess_bench::{median, millis};
use prowess_bench_report::{Cell, Column, Table};

use super::fleet::BenchFleet;

/// Requests of one kind in a row.
const BATCH: usize = 5;
/// What a worker may add to a command in a container that it has.
const MAX_ADDED_MILLIS: f64 = 3.0;

/// What the command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandPlace {
    /// It prints, in a container that has been used.
    Print,
    /// It changes a small file there.
    Change,
    /// It makes a small file in a new container with a skill.
    NewContainer,
}

impl CommandPlace {
    const ALL: [CommandPlace; 3] = [
        CommandPlace::Print,
        CommandPlace::Change,
        CommandPlace::NewContainer,
    ];

    fn name(self) -> &'static str {
        match self {
            CommandPlace::Print => "prints",
            CommandPlace::Change => "changes a file",
            CommandPlace::NewContainer => "in a new container",
        }
    }
}

/// Measures both in turns.
pub(crate) async fn measure(
    embedded: &BenchFleet,
    cluster: &BenchFleet,
    rounds: usize,
) -> Result<Table> {
    let columns = [
        Column::number("embedded", "ms", 2),
        Column::number("cluster", "ms", 2),
        Column::number("added", "ms", 2),
        Column::bar(),
    ];
    let mut table = Table::new("latency", columns).with_corner("p50 of a request with a command");
    let own = embedded.new_container(0).await?;
    let remote = cluster.new_container(0).await?;
    for place in CommandPlace::ALL {
        let (mut local, mut away) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            local.extend(batch(embedded, &own, place).await?);
            away.extend(batch(cluster, &remote, place).await?);
        }
        let local = millis(median(&local).unwrap_or_default());
        let away = millis(median(&away).unwrap_or_default());
        let bar = (place == CommandPlace::Print).then(|| Cell::at_most(MAX_ADDED_MILLIS));
        let numbers = [local, away, away - local].map(|number| Some(Cell::from(number)));
        table.push(place.name(), numbers.into_iter().chain([bar]));
    }
    let caption = format!("Medians of {rounds} rounds of {BATCH} requests, in turns.");
    Ok(table.with_caption(caption))
}

async fn batch(fleet: &BenchFleet, container: &str, place: CommandPlace) -> Result<Vec<Duration>> {
    let tenant = fleet.tenant(0)?;
    let mut times = Vec::with_capacity(BATCH);
    for _ in 0..BATCH {
        let start = Instant::now();
        let outcome = match place {
            CommandPlace::Print => tenant.command(container, ScriptedCommand::Print).await,
            CommandPlace::Change => tenant.command(container, ScriptedCommand::Change).await,
            CommandPlace::NewContainer => {
                fleet.new_container(0).await?;
                times.push(start.elapsed());
                continue;
            }
        };
        times.push(start.elapsed());
        let (name, class, reason) = (fleet.name, outcome.class(), outcome.reason());
        ensure!(outcome.is_done(), "{name}: {class} {reason}");
    }
    Ok(times)
}
