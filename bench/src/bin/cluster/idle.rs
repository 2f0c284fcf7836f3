//! What a cluster costs that has nothing to do: memory of its processes, and containers that
//! nobody uses.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use prowess_bench::server::BenchServer;
use prowess_bench::{megabytes, millis};
use prowess_bench_report::{Cell, Column, Table};

use super::fleet::BenchFleet;
use super::services::ClusterServices;

const CONTAINERS: u32 = 1_000;
/// What a worker may hold that has run nothing, in millions of bytes.
const MAX_WORKER_MEGABYTES: f64 = 25.0;

/// Memory of processes that have little or nothing behind them.
pub(crate) fn memory(cluster: &BenchFleet) -> Result<Table> {
    let columns = [Column::number("memory", "MB", 1), Column::bar()];
    let mut table = Table::new("memory", columns).with_corner("idle");
    let worker = cluster.idle_worker.context("no worker")?;
    let own = megabytes(worker.own);
    let bar = Cell::at_most(MAX_WORKER_MEGABYTES);
    table.push("worker", [Some(own.into()), Some(bar)]);
    let all = megabytes(worker.with_children);
    table.push("worker with its helpers", [Some(all.into()), None]);
    let gateway = cluster.servers.first().and_then(BenchServer::memory);
    let gateway = megabytes(gateway.context("no memory of a gateway")?);
    table.push("gateway", [Some(gateway.into()), None]);
    Ok(table.with_caption("A worker before its first command, and a gateway after it."))
}

/// Makes containers and leaves them.
pub(crate) async fn containers(
    services: &ClusterServices,
    fleets: [(&BenchFleet, &str); 2],
) -> Result<Table> {
    let columns = [
        Column::number("to create one", "ms", 2),
        Column::number("memory of servers", "MB", 1),
        Column::number("memory of workers", "MB", 1),
        Column::number("database", "MB", 1),
    ];
    let mut table = Table::new("idle-containers", columns);
    for (fleet, database) in fleets {
        let before = Held::read(services, fleet, database)?;
        let tenant = fleet.tenant(0)?;
        let start = Instant::now();
        for number in 0..CONTAINERS {
            let made = tenant.create_container(&format!("idle-{number}")).await;
            let (name, class, reason) = (fleet.name, made.class(), made.reason());
            ensure!(made.is_done(), "{name}: {class} {reason}");
        }
        let each = millis(start.elapsed() / CONTAINERS);
        let after = Held::read(services, fleet, database)?;
        let added = |after: u64, before: u64| megabytes(after.saturating_sub(before));
        let numbers = [
            each,
            added(after.servers, before.servers),
            added(after.workers, before.workers),
            added(after.database, before.database),
        ];
        table.push(fleet.name, numbers.map(|number| Some(number.into())));
    }
    let caption = format!("{CONTAINERS} empty containers: what they add.");
    Ok(table.with_corner("idle containers").with_caption(caption))
}

/// Bytes that are held.
struct Held {
    servers: u64,
    workers: u64,
    database: u64,
}

impl Held {
    fn read(services: &ClusterServices, fleet: &BenchFleet, database: &str) -> Result<Held> {
        let size = format!("SELECT pg_database_size('{database}')");
        let database = services.postgres.query(&size)?;
        Ok(Held {
            servers: fleet.server_memory(),
            workers: fleet.worker_memory()?,
            database: database.parse().context("no size of the database")?,
        })
    }
}
