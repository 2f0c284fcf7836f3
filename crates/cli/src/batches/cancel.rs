//! `prowess batches cancel ID`

use super::show::print;
use super::source::SourceArgs;
use crate::{Exit, client};

/// Cancel a batch.
///
/// Requests in progress are stopped; those that have ended keep their results. A batch that has
/// ended is not changed. Prints the state of the batch afterwards.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The batch (msgbatch_…, batch_…)
    #[arg(value_name = "ID")]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: SourceArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let batch = client::block_on(async { args.source.open().await?.cancel(&args.id).await })?;
    print(&batch, args.json)?;
    Ok(Exit::Ok)
}
