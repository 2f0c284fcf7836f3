//! `prowess man FOLDER`: man pages, for packages.

use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;

use super::{Cli, Exit, paths};

/// Write man pages, one for each command.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// An existing folder
    #[arg(value_name = "FOLDER", value_parser = paths::path_parser())]
    folder: PathBuf,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    clap_mangen::generate_to(Cli::command(), &args.folder)
        .with_context(|| format!("cannot write man pages to {}", args.folder.display()))?;
    Ok(Exit::Ok)
}
