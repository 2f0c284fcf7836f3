//! `prowess worker`

mod environment;
mod health;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use prowess::cluster::{WorkerOverrides, WorkerSetup, worker_setup};
use prowess_bus::Bus;
use prowess_sandbox::Sandbox;
use prowess_worker::WorkerService;

use super::config_args::ConfigArgs;
use super::logging::{self, LogDetail};
use super::serve::Signals;
use super::{Exit, descriptors, output, paths};
use health::HealthServer;

/// Run a worker: commands of a cluster's gateways, in this host's sandbox.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: ConfigArgs,
    /// Address of a NATS server of the cluster; can be repeated. Default: `cluster.nats`
    #[arg(
        long,
        value_name = "URL",
        env = "PROWESS_NATS",
        value_delimiter = ',',
        hide_env_values = true
    )]
    nats: Vec<String>,
    /// Name of this worker, which no other has. Default: `worker.id`, or the host's name and a
    /// random text
    #[arg(long, value_name = "NAME", env = "PROWESS_WORKER_ID")]
    id: Option<String>,
    /// Folder of its sandbox and caches, which nothing else uses. Default: `worker.state_dir`
    #[arg(long, value_name = "FOLDER", value_parser = paths::path_parser())]
    state: Option<PathBuf>,
    /// Maximum concurrent commands. Default: `worker.slots`
    #[arg(long, value_name = "NUMBER")]
    slots: Option<usize>,
    /// Answer /healthz, /readyz and /metrics at this address and port
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// What to log. RUST_LOG overrides it for single modules, such as
    /// RUST_LOG=prowess_worker=debug
    #[arg(long, value_enum, default_value_t = LogDetail::Info, env = "PROWESS_LOG")]
    log: LogDetail,
}

/// Maximum number of threads for blocking work; each retains memory of its own.
const MAX_BLOCKING_THREADS: usize = 32;

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    // Most of a huge page would stay unused. If this fails, it only uses more memory.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let given = WorkerOverrides {
        servers: args.nats.clone(),
        id: args.id.clone(),
        state_dir: args.state.clone(),
        slots: args.slots,
    };
    let setup = worker_setup(&args.place.load(None)?, given)?;
    logging::start(args.log)?;
    descriptors::raise_limit();
    environment::warn_of_secrets();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(run_worker(setup, args.listen))?;
    Ok(Exit::Ok)
}

async fn run_worker(setup: WorkerSetup, listen: Option<SocketAddr>) -> anyhow::Result<()> {
    let (id, slots) = (setup.worker.id.clone(), setup.worker.slots);
    let sandbox = Sandbox::open(setup.sandbox).await;
    let sandbox = sandbox.context("cannot start the sandbox")?;
    let bus = Bus::connect(setup.connection).await;
    let bus = bus.context("cannot connect to the NATS servers")?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let health = match listen {
        Some(address) => Some(HealthServer::bind(address).await?),
        None => None,
    };
    let service = WorkerService::start(bus.clone(), sandbox.clone(), setup.worker).await;
    let service = Arc::new(service.context("cannot start the worker")?);
    if let Some(health) = health {
        output::print_remark(&format!("health checks on http://{}", health.address()));
        tokio::spawn(health.serve(Arc::clone(&service), sandbox, bus.clone()));
    }
    let commands = if slots == 1 { "command" } else { "commands" };
    output::print_remark(&format!("worker ready: {id}, {slots} {commands} at once"));
    signals.next().await;
    output::print_remark("stopping: waiting for running commands; signal again to end them");
    tokio::select! {
        () = service.drain() => {}
        () = signals.next() => {
            logging::flush();
            std::process::exit(Exit::Problems as i32);
        }
    }
    // What was sent last is on its way; nothing else is lost if this fails.
    let _ = bus.drain().await;
    if let Some(traces) = setup.traces {
        tokio::select! {
            () = traces.flush() => {}
            () = signals.next() => {}
        }
    }
    output::print_remark("worker stopped");
    Ok(())
}
