//! `prowess runs`: records of skill runs, of the store itself or with `--server` of a server, and
//! kept runs of a server.
//!
//! | module | owns |
//! |---|---|
//! | `list`, `show` | `prowess runs`, `prowess runs ID` |
//! | `filter` | which runs are listed |
//! | `remote` | runs of a server, in the form in which the store has them |
//! | `attach` | `prowess runs attach`: following a kept run of a server |
//! | `reconnect` | how long a broken connection is repaired |
//! | `follow_report` | what is printed of a run that is followed |
//! | `cancel` | `prowess runs cancel` |
//! | `summary`, `skill_table` | a run as JSON; what its skills took |

mod attach;
mod cancel;
mod filter;
mod follow_report;
mod list;
pub(crate) mod reconnect;
mod remote;
mod show;
mod skill_table;
mod summary;

use std::borrow::Cow;

use anyhow::Context;
use prowess_client::Client;
use prowess_store::{Store, TenantId};

use super::client::{ServerOrStoreArgs, block_on};
use super::config_args::ConfigArgs;
use super::{Exit, store_args};
use filter::RunFilterArgs;

/// List runs, show one with its events, follow or cancel a run of a server.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The run to show (run_…, resp_…); without one, the newest are listed
    id: Option<String>,
    /// How many to list
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    #[command(flatten)]
    filter: RunFilterArgs,
    #[command(flatten)]
    server: ServerOrStoreArgs,
    /// Without --server: the tenant
    #[arg(long, default_value = "default", value_parser = store_args::parse_tenant)]
    tenant: TenantId,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: ConfigArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Follow a run of a server until it ends
    Attach(attach::Args),
    /// Cancel a run of a server
    Cancel(cancel::Args),
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.command {
        Some(Command::Attach(args)) => return attach::run(args),
        Some(Command::Cancel(args)) => return cancel::run(args),
        None => {}
    }
    block_on(async {
        match args.server.connect()? {
            Some(client) => print_remote(args, &client).await,
            None => print_local(args).await,
        }
    })?;
    Ok(Exit::Ok)
}

async fn print_remote(args: &Args, client: &Client) -> anyhow::Result<()> {
    if let Some(id) = &args.id {
        return show::print(&remote::find(client, &run_id(id)).await?, args.json);
    }
    let runs = remote::list(client, args.limit, &args.filter.to_query()).await?;
    list::print(&runs, !args.filter.is_empty(), args.json)
}

async fn print_local(args: &Args) -> anyhow::Result<()> {
    let config = args.place.load(None)?;
    let store = Store::open(&config.store)
        .await
        .context("cannot open the store")?;
    if let Some(id) = &args.id {
        let found = show::find(&store, &args.tenant, &run_id(id)).await?;
        return show::print(&found, args.json);
    }
    let filter = args.filter.to_filter()?;
    let runs = list::read(&store, &args.tenant, &filter, args.limit).await?;
    list::print(&runs, !args.filter.is_empty(), args.json)
}

/// The id of a run, which may be given as that of its response: `run --background --json` prints
/// both, and a client of the Responses API knows only the latter.
fn run_id(id: &str) -> Cow<'_, str> {
    match id.strip_prefix("resp_") {
        Some(suffix) => format!("run_{suffix}").into(),
        None => id.into(),
    }
}
