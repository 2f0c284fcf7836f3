//! `prowess sandbox list`

use comfy_table::{ContentArrangement, Table, presets};
use prowess_sandbox::Sandbox;

use super::Where;
use crate::cli::Exit;
use crate::cli::output;

/// List the sessions that are kept, the most recently used first.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Where,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let sessions = Sandbox::kept(&args.place.settings()?.0);
    if args.json {
        output::json(&sessions)?;
    } else if !sessions.is_empty() {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic);
        for session in sessions {
            table.add_row([session.id, session.owner, output::size(session.bytes)]);
        }
        output::out(&format!("{}\n", table.trim_fmt()))?;
    }
    Ok(Exit::Ok)
}
