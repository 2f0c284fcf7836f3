//! What a cluster costs: the same requests to one server with its own sandbox, and to gateways
//! with workers on the same machine, in turns.
//!
//! `cargo xtask bench cluster`; takes the number of rounds as its argument. Both have databases
//! of one PostgreSQL with all commits synced to disk. Workers and gateways are processes of the
//! real binary, NATS is a real server, the object store keeps its content in memory.
//!
//! | module | owns |
//! |---|---|
//! | `services` | PostgreSQL, NATS and the object store |
//! | `fleet` | the servers and workers under measurement |
//! | `latency` | the time of a request with a command |
//! | `throughput` | requests per second |
//! | `hand_over` | how long kept runs have no gateway when theirs stops |
//! | `idle` | memory of idle processes, and the cost of idle containers |
//! | `without_nats` | requests that pass to a model while NATS is down |

#![expect(clippy::print_stdout, reason = "its tables are what it is for")]

mod fleet;
mod hand_over;
mod idle;
mod latency;
mod services;
mod throughput;
mod without_nats;

use anyhow::{Result, bail};
use prowess_bench::gateway::model::MockModel;
use prowess_bench_report::Report;

use fleet::BenchFleet;
use services::ClusterServices;

const ROUNDS: usize = 20;
const GATEWAYS: usize = 2;
const WORKERS: usize = 4;
/// Together as many as one server runs at once on two cores.
const SLOTS: usize = 2;
/// Rounds of the throughput, which take long.
const THROUGHPUT_ROUNDS: usize = 5;

fn main() -> Result<()> {
    let rounds = prowess_bench::rounds(ROUNDS)?;
    if let Some(why) = services::missing() {
        bail!("{why}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(rounds))
}

async fn run(rounds: usize) -> Result<()> {
    let model = MockModel::start()?;
    let mut services = ClusterServices::start().await?;
    let mut report = Report::default();
    let cluster = BenchFleet::cluster(&services, model.address(), GATEWAYS, WORKERS, SLOTS).await?;
    println!("{}", report.add(idle::memory(&cluster)?));
    let embedded = BenchFleet::embedded(&services, model.address(), WORKERS * SLOTS).await?;
    let latency = latency::measure(&embedded, &cluster, rounds).await?;
    println!("{}", report.add(latency));
    let throughput_rounds = rounds.min(THROUGHPUT_ROUNDS);
    let throughput = throughput::measure(&embedded, &cluster, throughput_rounds).await?;
    println!("{}", report.add(throughput));
    let hand_over = hand_over::measure(&services, &cluster, model.address()).await?;
    println!("{}", report.add(hand_over));
    let fleets = [(&embedded, "embedded"), (&cluster, "cluster")];
    let containers = idle::containers(&services, fleets).await?;
    println!("{}", report.add(containers));
    let without = without_nats::measure(&mut services, &cluster).await?;
    println!("{}", report.add(without));
    report.finish()
}
