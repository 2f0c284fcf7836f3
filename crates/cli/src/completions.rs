//! `prowess completions SHELL`

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Exit, output};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell
    shell: Shell,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "prowess", &mut script);
    output::print_text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
