//! `prowess providers`: what a server knows of its own recent calls to providers.

use comfy_table::{Table, presets};
use serde_json::Value;

use super::client::{RemoteArgs, block_on};
use super::output::json_cell;
use super::{Exit, output};

/// Show the health of a server's providers.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let providers = block_on(async { Ok(client.providers().await?) })?;
    if args.json {
        output::print_json(&providers)?;
    } else if providers.is_empty() {
        output::print_remark("this server has no provider");
    } else {
        output::print_text(&format!("{}\n", table(&providers).trim_fmt()))?;
    }
    Ok(Exit::Ok)
}

/// A row for each model that is configured or was called, or for a provider without any.
fn table(providers: &[Value]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "PROVIDER",
        "MODEL",
        "BREAKER",
        "NOW",
        "CALLS",
        "FAILED",
        "AVERAGE",
        "LAST ERROR",
    ]);
    for provider in providers {
        let name = json_cell(provider, "/id");
        let targets = provider.get("targets").and_then(Value::as_array);
        if targets.is_none_or(Vec::is_empty) {
            table.add_row([name.clone()]);
        }
        for target in targets.into_iter().flatten() {
            table.add_row([
                name.clone(),
                json_cell(target, "/model"),
                json_cell(target, "/breaker/state"),
                json_cell(target, "/in_flight"),
                json_cell(target, "/attempts"),
                json_cell(target, "/failed"),
                average(target),
                json_cell(target, "/last_error/code"),
            ]);
        }
    }
    table
}

fn average(target: &Value) -> String {
    let millis = target.get("average_latency_ms").and_then(Value::as_f64);
    millis.map_or_else(|| "-".to_owned(), |millis| format!("{millis:.0} ms"))
}
