//! What a gateway must bear: long streams, many streams, slow readers, large bodies,
//! and clients that leave. Nothing is compared here; each holds or fails.
//!
//! `cargo xtask bench gateway-load`

#![expect(clippy::print_stdout, reason = "a report for people and for README.md")]

use std::time::Duration;

use anyhow::{Result, ensure};
use prowess_bench::gateway::client::{self, Ask, Client};
use prowess_bench::gateway::model::Model;
use prowess_bench::gateway::rivals::{self, Gateway, PASS, TRANSLATE};

/// What a long stream or a reader that stands still may add to the memory.
const BOUND: u64 = 32 << 20;
const EVENTS: u64 = 1_000_000;
const STREAMS: usize = 2_000;
const SLOW: usize = 50;
/// How often, and how long, something is looked for that must come.
const LOOKS: u32 = 2_000;
const LOOK: Duration = Duration::from_millis(10);

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        println!("| | peak or held memory | |\n|---|---:|---|");
        long_stream(PASS).await?;
        long_stream(TRANSLATE).await?;
        large_bodies().await?;
        many_streams().await?;
        slow_readers(PASS).await?;
        slow_readers(TRANSLATE).await
    })
}

fn start() -> Result<(Model, Gateway)> {
    let model = Model::start()?;
    let gateway = rivals::prowess(model.address(), rivals::RequestLog::Off)?;
    Ok((model, gateway))
}

/// A stream of a million events passes whole, in no more memory than a short one.
async fn long_stream(name: &str) -> Result<()> {
    let (_model, gateway) = start()?;
    let mut client = Client::connect(gateway.process.address()).await?;
    let short = Ask::messages(name, "events=1000 pause_us=0", true);
    client.ask(&short).await?;
    let before = gateway.process.peak_memory()?;
    let long = Ask::messages(name, &format!("events={EVENTS} pause_us=0"), true);
    let got = client.ask(&long).await?;
    ensure!(got.events >= EVENTS, "only {} events came", got.events);
    let peak = gateway.process.peak_memory()?;
    within(before, peak)?;
    told(
        &format!("a stream of {EVENTS} events, {name}"),
        peak,
        "whole",
    )
}

/// Bodies of ten megabytes pass, one after the other and eight at once.
async fn large_bodies() -> Result<()> {
    let (_model, gateway) = start()?;
    let ask = Ask::messages(PASS, &"0123456789".repeat(1 << 20), false);
    let clients = client::connect(gateway.process.address(), 8).await?;
    let (_, volley) = client::volley(clients, &ask, 4).await?;
    ensure!(volley.times.len() == 32, "not all were answered");
    let peak = gateway.process.peak_memory()?;
    told("bodies of 10 MB, 8 at once", peak, "32 answered")
}

/// Two thousand streams are open at once; when their clients leave, so does the
/// gateway, from every one of them.
async fn many_streams() -> Result<()> {
    let (model, gateway) = start()?;
    let ask = Ask::messages(PASS, "events=3 pause_us=0 hold=1", true);
    let mut clients = client::connect(gateway.process.address(), STREAMS).await?;
    for client in &mut clients {
        client.begin(&ask).await?;
    }
    ensure!(model.open_streams() == STREAMS as u64, "not all are open");
    let held = gateway.process.memory()?;
    drop(clients);
    until("the upstream is left", || model.open_streams() == 0).await?;
    told(
        &format!("{STREAMS} streams open at once"),
        held,
        "all left when their clients left",
    )
}

/// Readers that stop reading hold up their upstream instead of filling the memory.
async fn slow_readers(name: &str) -> Result<()> {
    let (model, gateway) = start()?;
    let before = gateway.process.memory()?;
    let ask = Ask::messages(name, "events=100000000 pause_us=0 pad=1000", true);
    let mut clients = client::connect(gateway.process.address(), SLOW).await?;
    for client in &mut clients {
        client.begin(&ask).await?;
    }
    // What fits into the buffers on the way is poured; then nothing moves any more.
    let mut poured = 0;
    let mut still = 0;
    for _ in 0..LOOKS {
        tokio::time::sleep(LOOK).await;
        still = if model.bytes() == poured {
            still + 1
        } else {
            0
        };
        poured = model.bytes();
        if still == 50 {
            break;
        }
    }
    ensure!(still == 50, "the upstream is not held up: {poured} bytes");
    let held = gateway.process.memory()?;
    within(before, held)?;
    drop(clients);
    until("the upstream is left", || model.open_streams() == 0).await?;
    let each = poured / SLOW as u64 / 1024;
    told(
        &format!("{SLOW} readers that stand still, {name}"),
        held,
        &format!("upstream held up after {each} KB each"),
    )
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) -> Result<()> {
    for _ in 0..LOOKS {
        if holds() {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    anyhow::bail!("it never came to pass that {what}")
}

fn within(before: u64, after: u64) -> Result<()> {
    let grown = after.saturating_sub(before);
    ensure!(grown <= BOUND, "the memory grew by {grown} bytes");
    Ok(())
}

fn told(what: &str, memory: u64, outcome: &str) -> Result<()> {
    println!("| {what} | {:.1} MB | {outcome} |", memory as f64 / 1e6);
    Ok(())
}
