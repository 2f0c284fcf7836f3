//! `prowess cluster status`

use comfy_table::{Table, presets};
use prowess_client::{RemoteBus, RemoteCluster, RemoteGateway, RemoteWorker};

use crate::client::{RemoteArgs, block_on};
use crate::{Exit, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Ends with [`Exit::Problems`] if the bus, a gateway or a worker is not as it should be.
pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let cluster = block_on(async { Ok(client.cluster().await?) })?;
    if args.json {
        output::print_json(&cluster)?;
    } else {
        print(&cluster)?;
    }
    Ok(match is_whole(&cluster) {
        true => Exit::Ok,
        false => Exit::Problems,
    })
}

fn print(cluster: &RemoteCluster) -> anyhow::Result<()> {
    let Some(gateway) = &cluster.gateway else {
        output::print_remark(
            "this server is not in a cluster: its configuration has no section [cluster]",
        );
        return Ok(());
    };
    output::print_text(&format!(
        "{}\n",
        gateway_table(&cluster.gateways).trim_fmt()
    ))?;
    if !cluster.workers.is_empty() {
        let workers = worker_table(&cluster.workers).trim_fmt();
        output::print_text(&format!("\n{workers}\n"))?;
    }
    let gateways = output::format_count(cluster.gateways.len(), "gateway");
    let workers = output::format_count(cluster.workers.len(), "worker");
    let bus = cluster.bus.as_ref().map(describe_bus).unwrap_or_default();
    output::print_remark(&format!(
        "{gateways}, {workers}, as {gateway} knows them; {bus}"
    ));
    Ok(())
}

fn gateway_table(gateways: &[RemoteGateway]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["GATEWAY", "STATE", "VERSION", "RUNS", "LEASES", "SEEN"]);
    for gateway in gateways {
        table.add_row([
            &gateway.id,
            &gateway.state,
            &gateway.version,
            &gateway.kept_runs.to_string(),
            &gateway.leases.to_string(),
            &describe_age(gateway.seen_ms_ago),
        ]);
    }
    table
}

fn worker_table(workers: &[RemoteWorker]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let header = [
        "WORKER",
        "STATE",
        "VERSION",
        "GRADE",
        "RUNNING",
        "WAITING",
        "FREE DISK",
        "SEEN",
    ];
    table.set_header(header);
    for worker in workers {
        table.add_row([
            &worker.id,
            &worker.state,
            &worker.version,
            &worker.grade,
            &format!("{} of {}", worker.running, worker.slots),
            &worker.waiting.to_string(),
            &output::format_size(worker.free_disk_bytes),
            &describe_age(worker.seen_ms_ago),
        ]);
    }
    table
}

fn describe_age(millis: u64) -> String {
    match millis {
        0..2_000 => "now".to_owned(),
        millis => format!("{} s ago", millis / 1_000),
    }
}

fn describe_bus(bus: &RemoteBus) -> String {
    let state = match bus.connected {
        true => "bus connected",
        false => "bus NOT connected",
    };
    let count = |number: u64, noun| {
        output::format_count(usize::try_from(number).unwrap_or(usize::MAX), noun)
    };
    let reconnects = count(bus.reconnects, "reconnect");
    format!("{state}, {reconnects}, {}", count(bus.lost, "lost message"))
}

/// Whether nothing is lost. What is stopping is not a problem.
fn is_whole(cluster: &RemoteCluster) -> bool {
    let is_there = |state: &str| state != "lost";
    let gateways = cluster.gateways.iter().all(|one| is_there(&one.state));
    let workers = cluster.workers.iter().all(|one| is_there(&one.state));
    gateways && workers && cluster.bus.as_ref().is_none_or(|bus| bus.connected)
}
