//! `prowess config reload`

use std::fmt::Write;

use prowess_client::RemoteReload;

use crate::client::{RemoteArgs, block_on};
use crate::{Exit, output};

#[derive(Debug, clap::Args)]
pub(crate) struct ReloadArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ReloadArgs) -> anyhow::Result<Exit> {
    let client = args.remote.connect()?;
    let reloaded = block_on(async { Ok(client.reload_configuration().await?) })?;
    if args.json {
        output::print_json(&reloaded)?;
    } else {
        output::print_text(&describe(&reloaded))?;
    }
    Ok(Exit::Ok)
}

fn describe(reloaded: &RemoteReload) -> String {
    let RemoteReload {
        generation,
        source,
        changed,
        changed_count,
        ..
    } = reloaded;
    let settings = output::format_count(*changed_count, "setting");
    let mut text = format!("generation {generation}, from {source}: {settings} changed\n");
    for key in changed {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {key}");
    }
    match changed_count.saturating_sub(changed.len()) {
        0 => {}
        more => {
            let _ = writeln!(text, "  and {more} more");
        }
    }
    text
}
