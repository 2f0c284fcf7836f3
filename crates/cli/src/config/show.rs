//! `prowess config show`

use crate::client::{RemoteArgs, block_on};
use crate::{Exit, output};

#[derive(Debug, clap::Args)]
pub(crate) struct ShowConfigArgs {
    #[command(flatten)]
    remote: RemoteArgs,
}

/// The whole response: version, database, generation, and the settings.
pub(super) fn run(args: &ShowConfigArgs) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let shown = block_on(async { Ok(client.configuration().await?) })?;
    output::print_json(&shown)?;
    Ok(Exit::Ok)
}
