//! What a quiet tenant notices of a noisy one on the same server.
//!
//! The quiet tenant sends the same four kinds of requests one after the other: alone,
//! then while the noisy one does everything at once at its limits, and both again. Run
//! with `--release`; `PROWESS_BENCH_SAMPLES` is the number of samples of each kind, alone
//! and beside the noise, and `PROWESS_BENCH_SHARED_ADDRESS=1` has both tenants call from
//! the same address, as behind one proxy.
//!
//! `cargo xtask bench neighbours`

#![expect(clippy::print_stdout, reason = "its table is what it is for")]

mod load;
mod quiet_tenant;
mod report;
mod tally;

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use prowess_bench::gateway::model::MockModel;
use prowess_bench::server::tenant::BenchTenant;
use prowess_bench::server::{BenchServer, ServerSetup};
use prowess_bench_report::Report;
use tokio::runtime::{Builder, Runtime};

use load::Noise;
use quiet_tenant::{Phase, QuietTenant};

const SAMPLES: usize = 200;
/// Alone and noisy phases, in turns.
const ROUNDS: usize = 2;
/// How long the tenants wait for an answer. The noisy one waits for long: were it to give
/// up, its place in the queue would be free.
const QUIET_TIMEOUT: Duration = Duration::from_secs(20);
const NOISY_TIMEOUT: Duration = Duration::from_secs(120);
/// Small enough that what the noisy tenant writes does not fit.
const CONFIG: &str = "[sandbox]\nreduced = true\ndisk_bytes = 268435456\n";

fn main() -> Result<()> {
    let samples = samples()?;
    let model = MockModel::start()?;
    let mut setup = ServerSetup::new()?;
    setup.config = CONFIG.to_owned();
    let mut server = BenchServer::start(setup, model.address())?;
    // After the server's start, which must live with the limit it was given.
    load::raise_descriptor_limit()?;
    // The noise has a thread of its own, so that measuring does not wait for it.
    let noise = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let measuring = Builder::new_current_thread().enable_all().build()?;
    let quiet = measuring.block_on(run(&server, &noise, samples))?;
    let mut report = Report::default();
    let caption = format!("{samples} samples of each kind, {}", noisy_address());
    let table = report::table(&quiet).with_caption(caption);
    println!("{}", report.add(table));
    report::print(&quiet, &mut server);
    ensure!(quiet.errors() == 0, "requests of the quiet tenant failed");
    ensure!(quiet.lost() == 0, "data of the quiet tenant were lost");
    report.finish()
}

async fn run(server: &BenchServer, noise: &Runtime, samples: usize) -> Result<QuietTenant> {
    let level = server.sandbox_level().await?;
    println!("SQLite; sandbox: {level}; {samples} samples of each kind, in {ROUNDS} rounds\n");
    println!("Layer builds are left out: they need a package index.\n");
    let quiet = tenant(server, "quiet", Ipv4Addr::LOCALHOST, QUIET_TIMEOUT)?;
    let noisy = tenant(server, "noisy", noisy_source(), NOISY_TIMEOUT)?;
    let skill = noisy.prepare_skill(0).await?;
    let mut quiet = QuietTenant::prepare(quiet).await?;
    let each = samples.div_ceil(ROUNDS);
    for _ in 0..ROUNDS {
        quiet.phase(Phase::Alone, each).await?;
        let load = Noise::start(noise, noisy.clone(), skill.clone());
        load.is_up().await?;
        quiet.phase(Phase::Noisy, each).await?;
        quiet.noise.push(load.stop().await?);
        quiet.check_data().await?;
    }
    Ok(quiet)
}

fn tenant(
    server: &BenchServer,
    name: &'static str,
    source: Ipv4Addr,
    timeout: Duration,
) -> Result<BenchTenant> {
    Ok(BenchTenant {
        name,
        endpoint: server.endpoint(source),
        key: server.create_key(name)?,
        timeout,
    })
}

/// Tenants usually call from different addresses.
fn noisy_source() -> Ipv4Addr {
    match shares_address() {
        true => Ipv4Addr::LOCALHOST,
        false => Ipv4Addr::new(127, 0, 0, 2),
    }
}

fn noisy_address() -> &'static str {
    match shares_address() {
        true => "both tenants at one address",
        false => "each tenant at an address of its own",
    }
}

fn shares_address() -> bool {
    std::env::var_os("PROWESS_BENCH_SHARED_ADDRESS").is_some_and(|shared| shared == "1")
}

fn samples() -> Result<usize> {
    match std::env::var("PROWESS_BENCH_SAMPLES") {
        Ok(count) => count
            .parse()
            .context("PROWESS_BENCH_SAMPLES must be a number"),
        Err(_) => Ok(SAMPLES),
    }
}
