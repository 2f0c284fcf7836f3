//! `prowess batches`: batches of a server, or of the local store.
//!
//! | module | owns |
//! |---|---|
//! | `source` | where batches are: a server or the local store; one of them |
//! | `list`, `show` | `prowess batches`, `prowess batches ID` |
//! | `cancel` | `prowess batches cancel` |

mod cancel;
mod list;
mod show;
mod source;

use super::{Exit, client};
use source::SourceArgs;

/// List batches, show one, or cancel one.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The batch to show (msgbatch_…, batch_…); without one, the newest are listed
    id: Option<String>,
    /// How many to list
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Cancel a batch
    Cancel(cancel::Args),
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(Command::Cancel(args)) = &args.command {
        return cancel::run(args);
    }
    client::block_on(async {
        let source = args.source.open().await?;
        match &args.id {
            Some(id) => show::show(&source, id, args.json).await,
            None => list::list(&source, args.limit, args.json).await,
        }
    })?;
    Ok(Exit::Ok)
}
