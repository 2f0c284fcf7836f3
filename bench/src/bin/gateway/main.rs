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
//! | `rounds` | measuring a workload, round by round |
//! | `tables` | what is shown of the measurements |
//! | `workload` | what clients send |

#![expect(clippy::print_stdout, reason = "a report for people and for README.md")]

mod against;
mod costs;
mod rounds;
mod tables;
mod workload;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use prowess_bench::binaries::{NamedBinary, other_binaries, own_binary};
use prowess_bench::gateway::client::{self, ModelRequest};
use prowess_bench::gateway::model::MockModel;
use prowess_bench::gateway::rivals::{
    self, PASS_MODEL, RequestLog, RunningGateway, TRANSLATE_MODEL,
};
use prowess_bench::median;
use prowess_bench_report::Report;

use costs::{MemoryUse, ReadyTime, TranslationCost, WorkloadCosts};
use rounds::{WorkloadRounds, is_slow, round};
use workload::{Workload, works, works_with_request_logs};

const ROUNDS: usize = 9;
/// Rounds until all gateways but LiteLLM, which starts slowly, are started again.
const ROUNDS_PER_START: usize = 3;
const OPEN_STREAMS: usize = 2_000;

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
    let litellm = std::env::var_os("PROWESS_BENCH_LITELLM").map(PathBuf::from);
    let litellm = litellm.map(|environment| rivals::litellm(&environment, model.address()));
    let litellm = litellm.transpose()?;
    let litellm_idle = litellm.as_ref().map(|it| it.process.memory()).transpose()?;
    if litellm.is_none() {
        println!("LiteLLM is not measured; use `--with-litellm` to include it.\n");
    }
    let start = |log| start_all(&binaries, &model, log);
    let mut costs = Vec::new();
    let works = works(PASS_MODEL);
    let off = || start(RequestLog::Off);
    costs.extend(compare(&works, &model, off, litellm.as_ref(), rounds).await?);
    let works = works_with_request_logs(PASS_MODEL);
    let on = || start(RequestLog::On);
    costs.extend(compare(&works, &model, on, None, rounds).await?);
    let mut rivals = start(RequestLog::Off)?;
    let mut idle = memories(&rivals)?;
    rivals.extend(litellm);
    idle.extend(litellm_idle);
    let mut report = Report::default();
    println!("{}", report.add(tables::pass_through(&costs)));
    println!("{}", report.add(tables::cpu(&costs)));
    println!("{}", report.add(tables::added(&costs)));
    let translation = translation(&binaries, || start(RequestLog::Off), rounds).await?;
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

/// Every rival's processor time, and what it adds to the time of a client that talks to
/// the model itself. `start` starts the rivals again every few rounds: processor times of two
/// processes of one binary differ by up to a tenth, and stay different until they end.
async fn compare(
    works: &[Workload],
    model: &MockModel,
    start: impl Fn() -> Result<Vec<RunningGateway>>,
    slow: Option<&RunningGateway>,
    rounds: usize,
) -> Result<Vec<WorkloadCosts>> {
    let mut all: Vec<WorkloadRounds> = works.iter().map(|_| WorkloadRounds::default()).collect();
    let mut done = 0;
    while done < rounds {
        let some = ROUNDS_PER_START.min(rounds - done);
        let started = start()?;
        let rivals: Vec<&RunningGateway> = started.iter().chain(slow).collect();
        for (workload, measured) in works.iter().zip(&mut all) {
            measured.add(workload, model, &rivals, some).await?;
        }
        done += some;
    }
    let costs = works.iter().zip(&all);
    Ok(costs.map(|(workload, all)| all.costs(workload)).collect())
}

/// Messages in and Chat out, compared with the pass-through of the same binary.
async fn translation(
    binaries: &[NamedBinary],
    start: impl Fn() -> Result<Vec<RunningGateway>>,
    rounds: usize,
) -> Result<Vec<TranslationCost>> {
    let pairs = works(PASS_MODEL).into_iter().zip(works(TRANSLATE_MODEL));
    let pairs: Vec<_> = pairs.collect();
    // Of each pair and each binary, processor times of the one and of the other.
    let mut times = vec![vec![(Vec::new(), Vec::new()); binaries.len()]; pairs.len()];
    let mut done = 0;
    while done < rounds {
        let some = ROUNDS_PER_START.min(rounds - done);
        let started = start()?;
        // The first is nginx.
        let gateways = started.get(1..).unwrap_or_default();
        for ((passed, translated), times) in pairs.iter().zip(&mut times) {
            for _ in 0..some {
                for (gateway, (own, other)) in gateways.iter().zip(times.iter_mut()) {
                    let process = &gateway.process;
                    for (workload, cpu) in [(passed, own), (translated, other)] {
                        let address = process.address();
                        let round = round(workload, address, workload.each, || process.cpu());
                        cpu.push(round.await?.1);
                    }
                }
            }
        }
        done += some;
    }
    let mut costs = Vec::new();
    for ((workload, _), times) in pairs.iter().zip(&times) {
        for (binary, (own, other)) in binaries.iter().zip(times) {
            costs.push(TranslationCost {
                what: workload.what,
                name: binary.name.clone(),
                passed: median(own).unwrap_or_default(),
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
