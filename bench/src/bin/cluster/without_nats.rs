//! Requests that pass to a model, with and without NATS.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use prowess_bench::{median, millis, percentile, ratio};
use prowess_bench_report::{Cell, Column, Table};

use super::fleet::BenchFleet;
use super::services::ClusterServices;

const REQUESTS: usize = 2_000;

/// Measures with NATS, then ends it and measures again.
pub(crate) async fn measure(services: &mut ClusterServices, cluster: &BenchFleet) -> Result<Table> {
    let columns = [
        Column::number("p50", "ms", 3),
        Column::number("p95", "ms", 3),
        Column::number("p50 of that with NATS", "×", 2),
        Column::number("failed", "", 0),
    ];
    let mut table = Table::new("without-nats", columns).with_corner("passed through");
    // This warms up, too.
    pass(cluster).await?;
    let (with, with_failed) = pass(cluster).await?;
    services.stop_nats();
    let (without, without_failed) = pass(cluster).await?;
    let base = median(&with).unwrap_or_default();
    for (name, times, failed) in [
        ("with NATS", &with, with_failed),
        ("after its end", &without, without_failed),
    ] {
        let p50 = median(times).unwrap_or_default();
        let p95 = percentile(times, 95).unwrap_or_default();
        let cells = [
            Some(Cell::from(millis(p50))),
            Some(Cell::from(millis(p95))),
            ratio(p50, base).map(Cell::from),
            Some(Cell::from(f64::from(failed))),
        ];
        table.push(name, cells);
    }
    let caption = format!("{REQUESTS} requests, one after the other, each on a new connection.");
    Ok(table.with_caption(caption))
}

/// The times of requests that were done, and how many were not.
async fn pass(cluster: &BenchFleet) -> Result<(Vec<Duration>, u32)> {
    let (mut times, mut failed) = (Vec::with_capacity(REQUESTS), 0);
    for number in 0..REQUESTS {
        let tenant = cluster.tenant(number)?;
        let start = Instant::now();
        match tenant.pass_through().await.is_done() {
            true => times.push(start.elapsed()),
            false => failed += 1,
        }
    }
    ensure!(!times.is_empty(), "no request was done");
    Ok((times, failed))
}
