//! The cost of a gateway: nginx as a reverse proxy, Prowess and, on request, LiteLLM, with
//! the same model in the same run, alternating.
//!
//! `cargo xtask bench gateway [--with-litellm]`
//!
//! | module | owns |
//! |---|---|
//! | `tables` | what is shown of the measurements |

#![expect(clippy::print_stdout, reason = "a report for people and for README.md")]

mod tables;

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
use prowess_bench_report::Report;

use tables::{MemoryUse, ProxyCost, TranslationCost, WorkloadCosts};

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
    let mut costs = Vec::new();
    for workload in works() {
        costs.push(compare(&workload, &model, &rivals).await?);
    }
    costs.extend(with_request_logs(&model).await?);
    let mut report = Report::default();
    println!("{}", report.add(tables::pass_through(&costs)));
    println!("{}", report.add(tables::cpu(&costs)));
    println!("{}", report.add(tables::added(&costs)));
    let translation = translation(&rivals).await?;
    println!("{}", report.add(tables::translation(&translation)));
    let memory = memory(&model, &rivals, &idle).await?;
    let ready = ready(&model)?;
    println!("{}", report.add(tables::memory(&memory, ready)));
    report.finish()
}

/// The same requests with a request log in a file, the default of both.
async fn with_request_logs(model: &MockModel) -> Result<Vec<WorkloadCosts>> {
    let logging = [
        rivals::nginx(model.address(), RequestLog::On)?,
        rivals::prowess(model.address(), RequestLog::On)?,
    ];
    let requests = [
        small("a request, 1 connection, request logs on", 1, 2_000),
        small("a request, 16 connections, request logs on", 16, 300),
    ];
    let mut costs = Vec::new();
    for workload in requests {
        costs.push(compare(&workload, model, &logging).await?);
    }
    Ok(costs)
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
            "an event, 16 streams, 1 ms apart",
            16,
            "events=500 pause_us=1000",
        ),
        stream("an event, unthrottled", 1, "events=50000 pause_us=0"),
    ]
}

/// Every rival's processor time, and what it adds to the time of a client that talks to
/// the model itself.
async fn compare(
    workload: &Workload,
    model: &MockModel,
    rivals: &[RunningGateway],
) -> Result<WorkloadCosts> {
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
    let costs = rivals.iter().zip(&costs).map(|(rival, cost)| ProxyCost {
        name: rival.name,
        cpu: median(&cost.cpu).unwrap_or_default(),
        added: median(&cost.p50).unwrap_or_default().saturating_sub(direct),
    });
    Ok(WorkloadCosts {
        what: workload.what,
        direct,
        costs: costs.collect(),
    })
}

fn is_slow(rival: &RunningGateway) -> bool {
    rival.name == "LiteLLM"
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
async fn translation(rivals: &[RunningGateway]) -> Result<Vec<TranslationCost>> {
    let Some(prowess) = rivals.iter().find(|rival| rival.name == "prowess") else {
        return Ok(Vec::new());
    };
    let mut costs = Vec::new();
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
        costs.push(TranslationCost {
            what: workload.what,
            passed: median(&passed).unwrap_or_default(),
            translated: median(&other).unwrap_or_default(),
        });
    }
    Ok(costs)
}

fn memories(rivals: &[RunningGateway]) -> Result<Vec<u64>> {
    rivals.iter().map(|rival| rival.process.memory()).collect()
}

/// What each holds when idle, and with many streams open that have begun and wait.
async fn memory(
    model: &MockModel,
    rivals: &[RunningGateway],
    idle: &[u64],
) -> Result<Vec<MemoryUse>> {
    let mut all = Vec::new();
    let ask = ModelRequest::messages(PASS_MODEL, "events=3 pause_us=0 hold=1", true);
    for (rival, idle) in rivals.iter().zip(idle) {
        let mut used = MemoryUse {
            name: rival.name,
            idle: *idle,
            streaming: None,
        };
        if is_slow(rival) {
            all.push(used);
            continue;
        }
        let mut clients = client::connect(rival.process.address(), OPEN_STREAMS).await?;
        for client in &mut clients {
            client.send_and_read_head(&ask).await?;
        }
        ensure!(
            model.open_streams() >= OPEN_STREAMS as u64,
            "not all streams are open"
        );
        used.streaming = Some(rival.process.memory()?);
        all.push(used);
        drop(clients);
        while model.open_streams() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    Ok(all)
}

/// How soon after its start each accepts connections, nginx and Prowess.
fn ready(model: &MockModel) -> Result<[Duration; 2]> {
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
    Ok([nginx, prowess].map(|times| median(&times).unwrap_or_default()))
}
