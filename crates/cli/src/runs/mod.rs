//! `prowess runs`: records of skill runs from the store, without a server, and kept runs of a
//! server.
//!
//! | module | owns |
//! |---|---|
//! | `list`, `show` | `prowess runs`, `prowess runs ID`: on the store itself |
//! | `attach` | `prowess runs attach`: following a kept run of a server |
//! | `reconnect` | how long a broken connection is repaired |
//! | `follow_report` | what is printed of a run that is followed |
//! | `cancel` | `prowess runs cancel` |
//! | `summary`, `skill_table` | a run as JSON; what its skills took |

mod attach;
mod cancel;
mod follow_report;
mod list;
pub(crate) mod reconnect;
mod show;
mod skill_table;
mod summary;

use std::borrow::Cow;

use anyhow::Context;
use prowess_store::{Store, TenantId};

use super::config_args::ConfigArgs;
use super::{Exit, store_args};

const AFTER_HELP: &str = "\
Runs are listed and shown from the local store. A server on another machine has its own in its
console, and at GET /v1/runs.";

/// List runs, show one with its events, follow or cancel a run of a server.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The run to show (run_…, resp_…); without one, the newest are listed
    id: Option<String>,
    /// How many to list
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// The tenant
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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let config = args.place.load(None)?;
        let store = Store::open(&config.store)
            .await
            .context("cannot open the store")?;
        match &args.id {
            Some(id) => show::show(&store, &args.tenant, &run_id(id), args.json).await,
            None => list::list(&store, &args.tenant, args.limit, args.json).await,
        }
    })?;
    Ok(Exit::Ok)
}

/// The id of a run, which may be given as that of its response: `run --background --json` prints
/// both, and a client of the Responses API knows only the latter.
fn run_id(id: &str) -> Cow<'_, str> {
    match id.strip_prefix("resp_") {
        Some(suffix) => format!("run_{suffix}").into(),
        None => id.into(),
    }
}
