//! Load on a gateway: long streams, many streams, slow readers, large bodies, and clients
//! that disconnect. Nothing is compared here; each case passes or fails.
//!
//! `cargo xtask bench gateway-load`

#![expect(clippy::print_stdout, reason = "a report for people and for README.md")]

use std::time::Duration;

use anyhow::{Result, ensure};
use prowess_bench::binaries::own_binary;
use prowess_bench::gateway::client::{self, LoadClient, ModelRequest};
use prowess_bench::gateway::model::MockModel;
use prowess_bench::gateway::rivals::{self, PASS_MODEL, RunningGateway, TRANSLATE_MODEL};
use prowess_bench::megabytes;
use prowess_bench_report::{Column, Report, Table};

/// Memory that a long stream or a stalled reader may add.
const MAX_ADDED_BYTES: u64 = 32 << 20;
const EVENTS: u64 = 1_000_000;
const STREAMS: usize = 2_000;
const SLOW: usize = 50;
/// How often, and at which interval, a condition is checked.
const MAX_POLLS: u32 = 2_000;
const POLL_INTERVAL: Duration = Duration::from_millis(10);

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let table = runtime.block_on(measure())?;
    let mut report = Report::default();
    report.add(table);
    report.finish()
}

/// All cases; each prints its line when it is done.
async fn measure() -> Result<Table> {
    let columns = [
        Column::number("peak or steady memory", "MB", 1),
        Column::text("outcome"),
    ];
    let mut table = Table::new("memory", columns);
    print!("{}", table.markdown_head());
    for model in [PASS_MODEL, TRANSLATE_MODEL] {
        long_stream(model, &mut table).await?;
    }
    large_bodies(&mut table).await?;
    many_streams(&mut table).await?;
    for model in [PASS_MODEL, TRANSLATE_MODEL] {
        slow_readers(model, &mut table).await?;
    }
    Ok(table)
}

fn way(model: &str) -> &'static str {
    match model {
        PASS_MODEL => "passed through",
        _ => "translated",
    }
}

fn start() -> Result<(MockModel, RunningGateway)> {
    let model = MockModel::start()?;
    let gateway = rivals::prowess(&own_binary()?, model.address(), rivals::RequestLog::Off)?;
    Ok((model, gateway))
}

/// A stream of a million events passes whole, in no more memory than a short one.
async fn long_stream(name: &str, table: &mut Table) -> Result<()> {
    let (_model, gateway) = start()?;
    let mut client = LoadClient::connect(gateway.process.address()).await?;
    let short = ModelRequest::messages(name, "events=1000 pause_us=0", true);
    client.send_and_read(&short).await?;
    let before = gateway.process.peak_memory()?;
    let long = ModelRequest::messages(name, &format!("events={EVENTS} pause_us=0"), true);
    let totals = client.send_and_read(&long).await?;
    ensure!(
        totals.events >= EVENTS,
        "only {} events came",
        totals.events
    );
    let peak = gateway.process.peak_memory()?;
    check_growth(before, peak)?;
    let what = format!("a stream of 1,000,000 events, {}", way(name));
    push_row(table, &what, peak, "complete");
    Ok(())
}

/// Bodies of ten megabytes pass, one after the other and eight at once.
async fn large_bodies(table: &mut Table) -> Result<()> {
    let (_model, gateway) = start()?;
    let request = ModelRequest::messages(PASS_MODEL, &"0123456789".repeat(1 << 20), false);
    let clients = client::connect(gateway.process.address(), 8).await?;
    let (_, result) = client::send_concurrently(clients, &request, 4).await?;
    ensure!(result.times.len() == 32, "not all were answered");
    let peak = gateway.process.peak_memory()?;
    push_row(table, "bodies of 10 MB, 8 at once", peak, "32 answered");
    Ok(())
}

/// Two thousand streams are open at once; when their clients disconnect, the gateway ends
/// every one of them.
async fn many_streams(table: &mut Table) -> Result<()> {
    let (model, gateway) = start()?;
    let request = ModelRequest::messages(PASS_MODEL, "events=3 pause_us=0 hold=1", true);
    let mut clients = client::connect(gateway.process.address(), STREAMS).await?;
    for client in &mut clients {
        client.send_and_read_head(&request).await?;
    }
    ensure!(model.open_streams() == STREAMS as u64, "not all are open");
    let held = gateway.process.memory()?;
    drop(clients);
    wait_until("all upstream streams end", || model.open_streams() == 0).await?;
    let outcome = "all ended when their clients disconnected";
    push_row(table, "2,000 streams open at once", held, outcome);
    Ok(())
}

/// Readers that stop reading block their upstream instead of filling the memory.
async fn slow_readers(name: &str, table: &mut Table) -> Result<()> {
    let (model, gateway) = start()?;
    let before = gateway.process.memory()?;
    let request = ModelRequest::messages(name, "events=100000000 pause_us=0 pad=1000", true);
    let mut clients = client::connect(gateway.process.address(), SLOW).await?;
    for client in &mut clients {
        client.send_and_read_head(&request).await?;
    }
    // The upstream fills the buffers on the way; then nothing moves any more.
    let mut sent_bytes = 0;
    let mut still = 0;
    for _ in 0..MAX_POLLS {
        tokio::time::sleep(POLL_INTERVAL).await;
        still = if model.bytes() == sent_bytes {
            still + 1
        } else {
            0
        };
        sent_bytes = model.bytes();
        if still == 50 {
            break;
        }
    }
    ensure!(
        still == 50,
        "the upstream is not blocked: {sent_bytes} bytes"
    );
    let held = gateway.process.memory()?;
    check_growth(before, held)?;
    drop(clients);
    wait_until("all upstream streams end", || model.open_streams() == 0).await?;
    let each = megabytes(sent_bytes / SLOW as u64);
    let outcome = format!("upstream is blocked after {each:.0} MB each");
    let what = format!("{SLOW} stalled readers, {}", way(name));
    push_row(table, &what, held, &outcome);
    Ok(())
}

async fn wait_until(what: &str, mut holds: impl FnMut() -> bool) -> Result<()> {
    for _ in 0..MAX_POLLS {
        if holds() {
            return Ok(());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    anyhow::bail!("timed out waiting until {what}")
}

fn check_growth(before: u64, after: u64) -> Result<()> {
    let grown = after.saturating_sub(before);
    ensure!(grown <= MAX_ADDED_BYTES, "the memory grew by {grown} bytes");
    Ok(())
}

fn push_row(table: &mut Table, what: &str, memory: u64, outcome: &str) {
    table.push(what, [Some(megabytes(memory).into()), Some(outcome.into())]);
    if let Some(row) = table.rows.last() {
        print!("{}", table.markdown_row(row));
    }
}
