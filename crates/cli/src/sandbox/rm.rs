//! `prowess sandbox rm ID…`

use prowess_sandbox::Sandbox;

use super::{SandboxArgs, block_on};
use crate::Exit;
use crate::output;

/// Delete containers and their files.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Container ids, as shown by `prowess sandbox list`
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    place: SandboxArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let (settings, _) = args.place.settings()?;
    let mut exit = Exit::Ok;
    for id in &args.ids {
        if let Err(error) = block_on(Sandbox::remove(&settings, id))? {
            output::print_error(&error.to_string());
            exit = Exit::Unreadable;
        }
    }
    Ok(exit)
}
