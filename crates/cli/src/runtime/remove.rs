//! `prowess runtime remove NAME`

use prowess_sandbox::RuntimeName;
use prowess_sandbox::runtimes::RuntimeStore;
use serde_json::json;

use super::sandbox_settings;
use crate::config_args::ConfigArgs;
use crate::{Exit, output};

/// Remove a runtime, and the files of an unfinished installation of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The runtime
    #[arg(value_name = "NAME")]
    name: RuntimeName,
    #[command(flatten)]
    place: ConfigArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let store = RuntimeStore::new(&sandbox_settings(&args.place)?);
    let name = &args.name;
    store.remove(name)?;
    if args.json {
        output::print_json(&json!({ "name": name.as_str(), "removed": true }))?;
    } else {
        output::print_remark(&format!("{name} is removed"));
    }
    Ok(Exit::Ok)
}
