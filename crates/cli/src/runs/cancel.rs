//! `prowess runs cancel ID`

use serde_json::json;

use super::run_id;
use crate::client::{self, RemoteArgs};
use crate::{Exit, output};

/// Cancel a run of a server.
///
/// A run that has ended is not changed. Prints the state of the run afterwards.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run (run_…), or its response (resp_…)
    #[arg(value_name = "ID")]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let run = client::block_on(async { Ok(client.cancel_run(&run_id(&args.id)).await?) })?;
    if args.json {
        output::print_json(&json!({"run": run.id, "status": run.status}))?;
    } else {
        output::print_text(&format!("{} {}\n", run.id, run.status))?;
    }
    Ok(Exit::Ok)
}
