//! The table, and what became of the quiet tenant's data.

use std::time::Duration;

use prowess_bench::server::BenchServer;
use prowess_bench::{megabytes, millis, percentile};
use prowess_bench_report::{Cell, Column, Table};

use super::quiet_tenant::{Phase, QuietTenant, TenantOperation};

/// What the quiet tenant should notice at most.
const MAX_RATIO: f64 = 3.0;

/// How long the quiet tenant's requests took.
pub(crate) fn table(quiet: &QuietTenant) -> Table {
    let columns = [
        Column::number("alone, p50", "ms", 1),
        Column::number("alone, p95", "ms", 1),
        Column::number("beside the noisy tenant, p50", "ms", 1),
        Column::number("beside the noisy tenant, p95", "ms", 1),
        Column::number("ratio of p95", "×", 1),
        Column::bar(),
        Column::text("failed, alone + beside"),
    ];
    let mut table = Table::new("quiet-tenant", columns).with_corner("quiet tenant");
    for operation in TenantOperation::ALL {
        push(&mut table, quiet, operation);
    }
    table
}

/// What became of the quiet tenant's data, of the server and of the noise.
pub(crate) fn print(quiet: &QuietTenant, server: &mut BenchServer) {
    println!("Errors of the quiet tenant: {}", quiet.errors());
    for reason in &quiet.reasons {
        println!("- {reason}");
    }
    println!("Its container's file lost: {} times", quiet.containers_lost);
    println!(
        "Its skills: {} uploads answered, {} skills listed, {} of the former lost",
        quiet.uploaded(),
        quiet.skills_listed,
        quiet.skills_lost
    );
    println!(
        "Server: {}, {:.0} MB, {:.0} MB at most",
        if server.is_running() {
            "running"
        } else {
            "ended"
        },
        megabytes(server.memory().unwrap_or_default()),
        megabytes(server.peak_memory().unwrap_or_default()),
    );
    for (round, noise) in quiet.noise.iter().enumerate() {
        println!("\nNoise, round {}:\n\n{}", round + 1, noise.lines());
    }
}

fn push(table: &mut Table, quiet: &QuietTenant, operation: TenantOperation) {
    let samples = |phase| {
        let samples = quiet.samples.iter();
        samples.filter(move |sample| sample.phase == phase && sample.operation == operation)
    };
    // A request that failed took its time too, so it counts.
    let times = |phase| samples(phase).map(|sample| sample.time).collect::<Vec<_>>();
    let (alone, noisy) = (times(Phase::Alone), times(Phase::Noisy));
    let failed = |phase| samples(phase).filter(|sample| !sample.is_done).count();
    let cell = |time: Option<Duration>| time.map(|time| Cell::from(millis(time)));
    let failed = format!(
        "{} + {} of {} + {}",
        failed(Phase::Alone),
        failed(Phase::Noisy),
        alone.len(),
        noisy.len(),
    );
    let cells = [
        cell(percentile(&alone, 50)),
        cell(percentile(&alone, 95)),
        cell(percentile(&noisy, 50)),
        cell(percentile(&noisy, 95)),
        ratio(percentile(&noisy, 95), percentile(&alone, 95)),
        Some(Cell::at_most(MAX_RATIO)),
        Some(failed.into()),
    ];
    table.push(operation.name(), cells);
}

fn ratio(noisy: Option<Duration>, alone: Option<Duration>) -> Option<Cell> {
    let (noisy, alone) = (noisy?, alone.filter(|alone| !alone.is_zero())?);
    Some((noisy.as_secs_f64() / alone.as_secs_f64()).into())
}
