//! The cost of a gateway: nginx as a reverse proxy, Prowess and, on request, LiteLLM and
//! other binaries of Prowess, with the same model in the same run, alternating.
//!
//! `cargo xtask bench gateway [--with-litellm] [--against NAME=PATH]`; takes the number of
//! rounds as its argument.
//!
//! | module | owns |
//! |---|---|
//! | `against` | the comparison with other binaries of Prowess |
//! | `costs` | what was measured |
//! | `tables` | what is shown of the measurements |
//! | `workload` | what clients send |

#![expect(clippy::print_stdout, reason = "a report for people and for README.md")]

mod against;
mod costs;
mod tables;
mod workload;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use prowess_bench::binaries::{NamedBinary, other_binaries, own_binary};
use prowess_bench::gateway::client::{self, LoadResult, ModelRequest};
use prowess_bench::gateway::model::MockModel;
use prowess_bench::gateway::rivals::{
    self, PASS_MODEL, RequestLog, RunningGateway, TRANSLATE_MODEL,
};
use prowess_bench::median;
use prowess_bench_report::Report;

use costs::{MemoryUse, ProxyCost, ReadyTime, TranslationCost, WorkloadCosts};
use workload::{Workload, works, works_with_request_logs};

const ROUNDS: usize = 9;
/// Asked before anything is counted.
const WARM_UP: usize = 20;
const OPEN_STREAMS: usize = 2_000;

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
    runtime.block_on(run(prowess_bench::rounds(ROUNDS)?))
}

async fn run(rounds: usize) -> Result<()> {
    let model = MockModel::start()?;
    let binaries: Vec<NamedBinary> = [own_binary()?]
        .into_iter()
        .chain(other_binaries()?)
        .collect();
    let mut rivals = start_all(&binaries, &model, RequestLog::Off)?;
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
    for workload in works(PASS_MODEL) {
        costs.push(compare(&workload, &model, &rivals, rounds).await?);
    }
    costs.extend(with_request_logs(&binaries, &model, rounds).await?);
    let mut report = Report::default();
    println!("{}", report.add(tables::pass_through(&costs)));
    println!("{}", report.add(tables::cpu(&costs)));
    println!("{}", report.add(tables::added(&costs)));
    let translation = translation(&binaries, &rivals, rounds).await?;
    println!("{}", report.add(tables::translation(&translation)));
    let memory = memory(&model, &rivals, &idle).await?;
    let ready = ready(&binaries, &model, rounds)?;
    println!("{}", report.add(tables::memory(&memory, &ready)));
    let others: Vec<&str> = binaries.iter().skip(1).map(|it| it.name.as_str()).collect();
    if !others.is_empty() {
        let table = against::table(&others, &costs, &translation, &memory, &ready);
        println!("{}", report.add(table));
    }
    report.finish()
}

/// nginx and all binaries of Prowess.
fn start_all(
    binaries: &[NamedBinary],
    model: &MockModel,
    log: RequestLog,
) -> Result<Vec<RunningGateway>> {
    let mut all = vec![rivals::nginx(model.address(), log)?];
    for binary in binaries {
        all.push(rivals::prowess(binary, model.address(), log)?);
    }
    Ok(all)
}

/// The same requests with a request log in a file, the default of both.
async fn with_request_logs(
    binaries: &[NamedBinary],
    model: &MockModel,
    rounds: usize,
) -> Result<Vec<WorkloadCosts>> {
    let logging = start_all(binaries, model, RequestLog::On)?;
    let mut costs = Vec::new();
    for workload in works_with_request_logs(PASS_MODEL) {
        costs.push(compare(&workload, model, &logging, rounds).await?);
    }
    Ok(costs)
}

/// Every rival's processor time, and what it adds to the time of a client that talks to
/// the model itself.
async fn compare(
    workload: &Workload,
    model: &MockModel,
    rivals: &[RunningGateway],
    rounds: usize,
) -> Result<WorkloadCosts> {
    let mut direct = Vec::new();
    let mut costs: Vec<Cost> = rivals.iter().map(|_| Cost::default()).collect();
    for _ in 0..rounds {
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
        name: rival.name.clone(),
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

/// Messages in and Chat out, compared with the pass-through of the same binary.
async fn translation(
    binaries: &[NamedBinary],
    rivals: &[RunningGateway],
    rounds: usize,
) -> Result<Vec<TranslationCost>> {
    let is_prowess = |rival: &&RunningGateway| binaries.iter().any(|it| it.name == rival.name);
    let gateways: Vec<&RunningGateway> = rivals.iter().filter(is_prowess).collect();
    let mut costs = Vec::new();
    for (workload, translated) in works(PASS_MODEL).into_iter().zip(works(TRANSLATE_MODEL)) {
        let mut times = vec![(Vec::new(), Vec::new()); gateways.len()];
        for _ in 0..rounds {
            for (gateway, (passed, other)) in gateways.iter().zip(&mut times) {
                let process = &gateway.process;
                for (workload, cpu) in [(&workload, passed), (&translated, other)] {
                    let address = process.address();
                    let round = round(workload, address, workload.each, || process.cpu());
                    cpu.push(round.await?.1);
                }
            }
        }
        for (gateway, (passed, other)) in gateways.iter().zip(&times) {
            costs.push(TranslationCost {
                what: workload.what,
                name: gateway.name.clone(),
                passed: median(passed).unwrap_or_default(),
                translated: median(other).unwrap_or_default(),
            });
        }
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
            name: rival.name.clone(),
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

/// How soon after its start each accepts connections: nginx, and all binaries of Prowess.
fn ready(binaries: &[NamedBinary], model: &MockModel, rounds: usize) -> Result<Vec<ReadyTime>> {
    let prowess = binaries.iter().map(|binary| binary.name.as_str());
    let names = ["nginx"].into_iter().chain(prowess);
    let mut all: Vec<_> = names.map(|name| (name, Vec::new())).collect();
    for _ in 0..rounds {
        for (name, times) in &mut all {
            let gateway = match binaries.iter().find(|binary| binary.name == *name) {
                Some(binary) => rivals::prowess(binary, model.address(), RequestLog::Off)?,
                None => rivals::nginx(model.address(), RequestLog::Off)?,
            };
            times.push(gateway.process.ready());
        }
    }
    let times = all.iter().map(|(name, times)| ReadyTime {
        name: (*name).to_owned(),
        time: median(times).unwrap_or_default(),
    });
    Ok(times.collect())
}
