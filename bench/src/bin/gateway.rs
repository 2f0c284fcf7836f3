//! The cost of a gateway: nginx as a reverse proxy, Prowess and, on request, LiteLLM, with
//! the same model in the same run, alternating.
//!
//! `cargo xtask bench gateway [--with-litellm]`

#![expect(clippy::print_stdout, reason = "a report for people and for README.md")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use prowess_bench::gateway::client::{self, LoadResult, ModelRequest};
use prowess_bench::gateway::model::MockModel;
use prowess_bench::gateway::rivals::{
    self, PASS_MODEL, RequestLog, RunningGateway, TRANSLATE_MODEL,
};
use prowess_bench::median;

const ROUNDS: usize = 9;
/// Asked before anything is counted.
const WARM_UP: usize = 20;
const OPEN_STREAMS: usize = 2_000;

/// One kind of workload.
struct Workload {
    what: &'static str,
    request: ModelRequest,
    clients: usize,
    /// Requests of each client per round.
    each: usize,
    /// Whether costs are per event rather than per request.
    per_event: bool,
}

/// The cost of one workload for one gateway, round by round.
#[derive(Default)]
struct Cost {
    cpu: Vec<Duration>,
    p50: Vec<Duration>,
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run())
}

async fn run() -> Result<()> {
    let model = MockModel::start()?;
    let mut rivals = vec![
        rivals::nginx(model.address(), RequestLog::Off)?,
        rivals::prowess(model.address(), RequestLog::Off)?,
    ];
    if let Some(environment) = std::env::var_os("PROWESS_BENCH_LITELLM") {
        rivals.push(rivals::litellm(
            &PathBuf::from(environment),
            model.address(),
        )?);
    } else {
        println!("LiteLLM is not measured; use `--with-litellm` to include it.\n");
    }
    let idle = memories(&rivals)?;
    for workload in works() {
        compare(&workload, &model, &rivals).await?;
    }
    with_request_logs(&model).await?;
    translation(&rivals).await?;
    memory(&model, &rivals, &idle).await?;
    ready(&model)
}

/// The same requests with a request log in a file, the default of both.
async fn with_request_logs(model: &MockModel) -> Result<()> {
    let logging = [
        rivals::nginx(model.address(), RequestLog::On)?,
        rivals::prowess(model.address(), RequestLog::On)?,
    ];
    let requests = [
        small("a request, 1 connection, request logs on", 1, 2_000),
        small("a request, 16 connections, request logs on", 16, 300),
    ];
    for workload in requests {
        compare(&workload, model, &logging).await?;
    }
    Ok(())
}

fn small(what: &'static str, clients: usize, each: usize) -> Workload {
    Workload {
        what,
        request: ModelRequest::small(PASS_MODEL),
        clients,
        each,
        per_event: false,
    }
}

fn works() -> Vec<Workload> {
    let stream = |what, clients, prompt| Workload {
        what,
        request: ModelRequest::messages(PASS_MODEL, prompt, true),
        clients,
        each: 1,
        per_event: true,
    };
    vec![
        small("a request, 1 connection", 1, 2_000),
        small("a request, 16 connections", 16, 300),
        stream(
            "a streamed event, 16 streams, 1 ms apart",
            16,
            "events=500 pause_us=1000",
        ),
        stream(
            "a streamed event, unthrottled",
            1,
            "events=50000 pause_us=0",
        ),
    ]
}

/// Prints one table: every rival's processor time, and what it adds to the time of a
/// client that talks to the model itself.
async fn compare(workload: &Workload, model: &MockModel, rivals: &[RunningGateway]) -> Result<()> {
    let mut direct = Vec::new();
    let mut costs: Vec<Cost> = rivals.iter().map(|_| Cost::default()).collect();
    for _ in 0..ROUNDS {
        let (p50, _) = round(workload, model.address(), workload.each, || {
            Ok(Duration::ZERO)
        })
        .await?;
        direct.push(p50);
        for (rival, cost) in rivals.iter().zip(&mut costs) {
            let each = if is_slow(rival) {
                workload.each.div_ceil(100)
            } else {
                workload.each
            };
            let address = rival.process.address();
            let (p50, cpu) = round(workload, address, each, || rival.process.cpu()).await?;
            cost.p50.push(p50);
            cost.cpu.push(cpu);
        }
    }
    let direct = median(&direct).unwrap_or_default();
    println!("### {}\n", workload.what);
    println!("direct: p50 {}\n", micros(direct));
    println!("| | CPU | × nginx | p50 added | × nginx |\n|---|---:|---:|---:|---:|");
    let relative: Vec<(Duration, Duration)> = costs
        .iter()
        .map(|cost| relative_cost(cost, direct))
        .collect();
    let base = relative.first().copied().unwrap_or_default();
    for (rival, (cpu, added)) in rivals.iter().zip(&relative) {
        println!(
            "| {} | {} | {} | {} | {} |",
            rival.name,
            micros(*cpu),
            times(*cpu, base.0),
            micros(*added),
            times(*added, base.1),
        );
    }
    println!();
    Ok(())
}

fn is_slow(rival: &RunningGateway) -> bool {
    rival.name == "LiteLLM"
}

fn relative_cost(cost: &Cost, direct: Duration) -> (Duration, Duration) {
    let cpu = median(&cost.cpu).unwrap_or_default();
    let p50 = median(&cost.p50).unwrap_or_default();
    (cpu, p50.saturating_sub(direct))
}

/// One round: the median time of an answer, and the processor time per request or event.
async fn round(
    workload: &Workload,
    address: SocketAddr,
    each: usize,
    cpu: impl Fn() -> Result<Duration>,
) -> Result<(Duration, Duration)> {
    let clients = client::connect(address, workload.clients).await?;
    let warm = if workload.per_event { 1 } else { WARM_UP };
    let warming = if workload.per_event {
        ModelRequest::small(PASS_MODEL)
    } else {
        workload.request.clone()
    };
    let (clients, _) = client::send_concurrently(clients, &warming, warm).await?;
    let before = cpu()?;
    let (_, volley) = client::send_concurrently(clients, &workload.request, each).await?;
    let spent = cpu()?.saturating_sub(before);
    let counted = counted(workload, &volley)?;
    let p50 = median(&volley.times).context("nothing was asked")?;
    Ok((p50, spent / counted))
}

fn counted(workload: &Workload, volley: &LoadResult) -> Result<u32> {
    let requests = volley.times.len() as u64;
    let events = volley.got.events;
    ensure!(!workload.per_event || events > requests, "no events came");
    Ok(u32::try_from(if workload.per_event {
        events
    } else {
        requests
    })?)
}

/// Messages in and Chat out, compared with Prowess's own pass-through.
async fn translation(rivals: &[RunningGateway]) -> Result<()> {
    let Some(prowess) = rivals.iter().find(|rival| rival.name == "prowess") else {
        return Ok(());
    };
    println!("### Translation: Messages in, Chat upstream\n");
    println!("| | passed through | translated | ratio |\n|---|---:|---:|---:|");
    for workload in works() {
        let translated = Workload {
            request: match workload.per_event {
                false => ModelRequest::small(TRANSLATE_MODEL),
                true if workload.clients > 1 => {
                    ModelRequest::messages(TRANSLATE_MODEL, "events=500 pause_us=1000", true)
                }
                true => ModelRequest::messages(TRANSLATE_MODEL, "events=50000 pause_us=0", true),
            },
            ..workload
        };
        let workload = works()
            .into_iter()
            .find(|pass| pass.what == translated.what);
        let workload = workload.context("there is such a work")?;
        let (mut passed, mut other) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let address = prowess.process.address();
            passed.push(
                round(&workload, address, workload.each, || prowess.process.cpu())
                    .await?
                    .1,
            );
            other.push(
                round(&translated, address, workload.each, || {
                    prowess.process.cpu()
                })
                .await?
                .1,
            );
        }
        let passed = median(&passed).unwrap_or_default();
        let other = median(&other).unwrap_or_default();
        let ratio = times(other, passed);
        println!(
            "| CPU of {} | {} | {} | {ratio} |",
            workload.what,
            micros(passed),
            micros(other)
        );
    }
    println!();
    Ok(())
}

fn memories(rivals: &[RunningGateway]) -> Result<Vec<u64>> {
    rivals.iter().map(|rival| rival.process.memory()).collect()
}

/// What each holds when idle, and with many streams open that have begun and wait.
async fn memory(model: &MockModel, rivals: &[RunningGateway], idle: &[u64]) -> Result<()> {
    println!("### Memory\n");
    println!("| | idle | {OPEN_STREAMS} streams open | per stream |\n|---|---:|---:|---:|");
    let ask = ModelRequest::messages(PASS_MODEL, "events=3 pause_us=0 hold=1", true);
    for (rival, idle) in rivals.iter().zip(idle) {
        if is_slow(rival) {
            println!("| {} | {} | | |", rival.name, megabytes(*idle));
            continue;
        }
        let before = rival.process.memory()?;
        let mut clients = client::connect(rival.process.address(), OPEN_STREAMS).await?;
        for client in &mut clients {
            client.send_and_read_head(&ask).await?;
        }
        ensure!(
            model.open_streams() >= OPEN_STREAMS as u64,
            "not all streams are open"
        );
        let open = rival.process.memory()?;
        let each = open.saturating_sub(before) / OPEN_STREAMS as u64;
        println!(
            "| {} | {} | {} | {} KB |",
            rival.name,
            megabytes(*idle),
            megabytes(open),
            each / 1024
        );
        drop(clients);
        while model.open_streams() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    println!();
    Ok(())
}

/// How soon after its start each accepts connections.
fn ready(model: &MockModel) -> Result<()> {
    let (mut nginx, mut prowess) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        nginx.push(
            rivals::nginx(model.address(), RequestLog::Off)?
                .process
                .ready(),
        );
        prowess.push(
            rivals::prowess(model.address(), RequestLog::Off)?
                .process
                .ready(),
        );
    }
    let millis = |times: &[Duration]| median(times).unwrap_or_default().as_secs_f64() * 1e3;
    println!("### Ready after\n");
    println!(
        "nginx {:.0} ms, prowess {:.0} ms",
        millis(&nginx),
        millis(&prowess)
    );
    Ok(())
}

fn micros(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// How many times the base; nothing where the base is too small to be a measure.
fn times(time: Duration, base: Duration) -> String {
    if base < Duration::from_nanos(100) {
        return "–".to_owned();
    }
    format!("{:.2}", time.as_secs_f64() / base.as_secs_f64())
}
