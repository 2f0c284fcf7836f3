//! `prowess cluster …`

mod status;

use super::Exit;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Show the gateways and workers of a cluster, as one of its gateways knows them
    Status(status::Args),
}

pub(super) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Status(args) => status::run(args),
    }
}
