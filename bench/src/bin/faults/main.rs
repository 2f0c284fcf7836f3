//! What still answers while something the server depends on fails, and how soon
//! everything works again afterwards.
//!
//! Each fault has a server of its own under a light, constant load of mixed requests.
//! Run with `--release`; takes the names of faults as its arguments, all of them when
//! there are none. `PROWESS_BENCH_SECONDS` is how long each fault lasts.
//!
//! `cargo xtask bench faults`
//!
//! | module | owns |
//! |---|---|
//! | `fault` | what a fault is, and the list of them |
//! | `load` | the requests that are sent all along, and what became of them |
//! | `report` | the table |
//! | `disk_full`, `log_*`, `descriptors`, `database_*`, `s3_*` | one fault each |
//! | `log_pipe`, `s3`, `relay` | what they break |

#![expect(clippy::print_stdout, reason = "its table is what it is for")]

mod database_killed;
mod database_stalled;
mod descriptors;
mod disk_full;
mod fault;
mod load;
mod log_gone;
mod log_pipe;
mod log_stalled;
mod relay;
mod report;
mod s3;
mod s3_gone;
mod s3_stalled;

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use prowess_bench::gateway::model::MockModel;
use prowess_bench::server::BenchServer;
use prowess_bench::server::tenant::BenchTenant;
use prowess_bench_report::{Report, Table};
use tokio::runtime::{Builder, Runtime};

use fault::{Fault, PreparedFault};
use load::Load;
use report::FaultRow;

const SECONDS: u64 = 60;
/// A request that takes longer counts as not answered.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How long the load may take to be served before a fault, and after it.
const BEFORE_LIMIT: Duration = Duration::from_secs(30);
const RECOVERY_LIMIT: Duration = Duration::from_secs(120);

fn main() -> Result<()> {
    let during = seconds()?;
    let faults = chosen()?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let model = MockModel::start()?;
    let caption = format!(
        "Each fault lasts {} s; a request without an answer after {} s counts as such.",
        during.as_secs(),
        ANSWER_LIMIT.as_secs()
    );
    let mut table = report::table().with_caption(caption);
    println!("{}\n", table.caption);
    print!("{}", table.markdown_head());
    let mut reasons = Vec::new();
    let mut failed = Vec::new();
    for fault in faults {
        if let Some(missing) = fault.missing() {
            report::push_untried(&mut table, fault.name(), &format!("left out: {missing}"));
            print_last(&table);
            continue;
        }
        match try_fault(&*fault, &runtime, &model, during) {
            Ok(row) => {
                report::push(&mut table, &row);
                reasons.push((row.name, row.reasons));
            }
            Err(error) => {
                let why = format!("could not be tried: {error:#}");
                report::push_untried(&mut table, fault.name(), &why);
                failed.push(fault.name());
            }
        }
        print_last(&table);
    }
    report::print_reasons(&reasons);
    ensure!(
        failed.is_empty(),
        "could not be tried: {}",
        failed.join(", ")
    );
    let mut report = Report::default();
    report.add(table);
    report.finish()
}

/// Each fault takes a minute, so its line is shown when it is over.
fn print_last(table: &Table) {
    if let Some(row) = table.rows.last() {
        print!("{}", table.markdown_row(row));
    }
}

/// One fault from start to recovery.
fn try_fault(
    fault: &dyn Fault,
    runtime: &Runtime,
    model: &MockModel,
    during: Duration,
) -> Result<FaultRow> {
    let PreparedFault {
        setup,
        mut injector,
    } = fault.prepare(runtime)?;
    let mut server = BenchServer::start(setup, model.address())?;
    let tenant = BenchTenant {
        name: "load",
        endpoint: server.endpoint(Ipv4Addr::LOCALHOST),
        key: server.create_key("load")?,
        timeout: ANSWER_LIMIT,
    };
    runtime.block_on(server.sandbox_level())?;
    let skill = runtime.block_on(tenant.prepare_skill(0))?;
    let load = Load::start(runtime, tenant, skill);
    if let Err(last) = load.until_served(Instant::now(), BEFORE_LIMIT) {
        bail!("not served even before the fault: {last}");
    }
    let caused = Instant::now();
    injector.inject(&server)?;
    std::thread::sleep(during);
    let alive = server.is_running();
    injector.undo(&server)?;
    let undone = Instant::now();
    let recovered = load.until_served(undone, RECOVERY_LIMIT);
    let samples = load.stop(runtime);
    Ok(
        FaultRow::new(fault.name(), &samples, (caused, undone), recovered)
            .with_process(alive && server.is_running(), &server),
    )
}

fn seconds() -> Result<Duration> {
    match std::env::var("PROWESS_BENCH_SECONDS") {
        Ok(count) => {
            let count = count.parse();
            Ok(Duration::from_secs(
                count.context("PROWESS_BENCH_SECONDS must be a number")?,
            ))
        }
        Err(_) => Ok(Duration::from_secs(SECONDS)),
    }
}

/// The faults that are named, or all.
fn chosen() -> Result<Vec<Box<dyn Fault>>> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let mut all = fault::all();
    for name in &named {
        if !all.iter().any(|fault| fault.name() == name) {
            let names: Vec<_> = all.iter().map(|fault| fault.name()).collect();
            bail!("`{name}` is not a fault; available: {}", names.join(", "));
        }
    }
    all.retain(|fault| named.is_empty() || named.iter().any(|name| name == fault.name()));
    Ok(all)
}
