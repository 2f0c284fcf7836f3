//! `prowess tenants`: the tenants of a server, with what they have and did.

use comfy_table::{Table, presets};
use serde_json::Value;

use super::client::{RemoteArgs, block_on};
use super::output::json_cell;
use super::{Exit, output, store_args};

/// List the tenants of a server.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Count runs, requests and cost from this time on: 7d, 24h, 2026-11-01
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = store_args::parse_time)]
    since: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let tenants = block_on(async { Ok(client.tenants(&args.since).await?) })?;
    if args.json {
        output::print_json(&tenants)?;
    } else if !tenants.is_empty() {
        output::print_text(&format!("{}\n", table(&tenants).trim_fmt()))?;
    }
    Ok(Exit::Ok)
}

fn table(tenants: &[Value]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "TENANT", "SKILLS", "FILES", "STORED", "KEYS", "RUNS", "REQUESTS", "COST",
    ]);
    for tenant in tenants {
        let stored = tenant.get("stored_bytes").and_then(Value::as_u64);
        let cost = tenant.get("cost").and_then(Value::as_f64);
        table.add_row([
            json_cell(tenant, "/id"),
            json_cell(tenant, "/skills"),
            json_cell(tenant, "/files"),
            output::format_size(stored.unwrap_or_default()),
            json_cell(tenant, "/keys"),
            json_cell(tenant, "/runs"),
            json_cell(tenant, "/requests"),
            format!("{:.4}", cost.unwrap_or_default()),
        ]);
    }
    table
}
