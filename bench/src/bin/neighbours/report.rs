//! The table, and what became of the quiet tenant's data.

use std::time::Duration;

use prowess_bench::percentile;
use prowess_bench::server::BenchServer;

use super::quiet_tenant::{Phase, QuietTenant, TenantOperation};

pub(crate) fn print(quiet: &QuietTenant, server: &mut BenchServer) {
    println!(
        "| quiet tenant | alone p50 | p95 | noisy p50 | p95 | p95 noisy / alone | failed, alone + noisy |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for operation in TenantOperation::ALL {
        print_row(quiet, operation);
    }
    println!("\nErrors of the quiet tenant: {}", quiet.errors());
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
    let megabytes = |bytes: Option<u64>| bytes.unwrap_or_default() as f64 / 1e6;
    println!(
        "Server: {}, {:.0} MB, {:.0} MB at most",
        if server.is_running() {
            "running"
        } else {
            "ended"
        },
        megabytes(server.memory()),
        megabytes(server.peak_memory()),
    );
    for (round, noise) in quiet.noise.iter().enumerate() {
        println!("\nNoise, round {}:\n\n{}", round + 1, noise.lines());
    }
}

fn print_row(quiet: &QuietTenant, operation: TenantOperation) {
    let of = |phase| {
        let samples = quiet.samples.iter();
        samples.filter(move |sample| sample.phase == phase && sample.operation == operation)
    };
    // A request that failed took its time too, so it counts.
    let times = |phase| of(phase).map(|sample| sample.time).collect::<Vec<_>>();
    let (alone, noisy) = (times(Phase::Alone), times(Phase::Noisy));
    let failed = |phase| of(phase).filter(|sample| !sample.is_done).count();
    println!(
        "| {} | {} | {} | {} | {} | {} | {} + {} of {} + {} |",
        operation.name(),
        millis(percentile(&alone, 50)),
        millis(percentile(&alone, 95)),
        millis(percentile(&noisy, 50)),
        millis(percentile(&noisy, 95)),
        ratio(percentile(&noisy, 95), percentile(&alone, 95)),
        failed(Phase::Alone),
        failed(Phase::Noisy),
        alone.len(),
        noisy.len(),
    );
}

fn millis(time: Option<Duration>) -> String {
    time.map_or("–".to_owned(), |time| {
        format!("{:.1} ms", time.as_secs_f64() * 1e3)
    })
}

fn ratio(noisy: Option<Duration>, alone: Option<Duration>) -> String {
    match (noisy, alone) {
        (Some(noisy), Some(alone)) if !alone.is_zero() => {
            format!("{:.1} ×", noisy.as_secs_f64() / alone.as_secs_f64())
        }
        _ => "–".to_owned(),
    }
}
