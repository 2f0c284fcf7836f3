//! `prowess sandbox list`

use comfy_table::{ContentArrangement, Table, presets};
use prowess_sandbox::Sandbox;

use super::SandboxArgs;
use crate::Exit;
use crate::output;

/// List stored containers, the most recently used first.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: SandboxArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let containers = Sandbox::stored_containers(&args.place.settings()?.0);
    if args.json {
        output::print_json(&containers)?;
    } else if !containers.is_empty() {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic);
        for container in containers {
            table.add_row([
                container.id,
                container.owner,
                output::format_size(container.bytes),
            ]);
        }
        output::print_text(&format!("{}\n", table.trim_fmt()))?;
    }
    Ok(Exit::Ok)
}
