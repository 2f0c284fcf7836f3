//! `prowess sandbox rm ID…`

use std::path::PathBuf;

use prowess_sandbox::Sandbox;

use super::{block_on, settings};
use crate::cli::Exit;
use crate::cli::output;

/// Remove sessions and their files.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Ids, as `prowess sandbox list` shows them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    /// Where everything is kept
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let settings = settings(args.data_dir.as_deref())?;
    let mut exit = Exit::Ok;
    for id in &args.ids {
        if let Err(error) = block_on(Sandbox::remove(&settings, id))? {
            output::error(&error.to_string());
            exit = Exit::Unreadable;
        }
    }
    Ok(exit)
}
