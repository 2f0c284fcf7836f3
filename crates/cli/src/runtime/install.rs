//! `prowess runtime install NAME`

use std::path::PathBuf;

use anyhow::Context;
use prowess_sandbox::RuntimeName;
use prowess_sandbox::runtimes::{self, InstalledRuntime, RuntimeDefinition, RuntimeError};
use serde::Serialize;

use super::progress::InstallProgress;
use super::sandbox_settings;
use crate::config_args::ConfigArgs;
use crate::{Exit, output, paths};

/// Install a runtime, or continue an interrupted installation.
///
/// Packages come from the mirrors that this host's apt, pip and npm are configured with. Use
/// the runtime with `runtime = "NAME"` under [sandbox] in prowess.toml.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `slim`, `full`, or any name for a list of your own
    #[arg(value_name = "NAME")]
    name: RuntimeName,
    /// A list of packages to make it from, in TOML
    #[arg(long, value_name = "FILE", value_parser = paths::path_parser())]
    list: Option<PathBuf>,
    /// Install it again, with the current versions of its packages
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    place: ConfigArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct InstallOutput<'a> {
    name: &'a str,
    root: String,
    #[serde(flatten)]
    lock: &'a runtimes::RuntimeLock,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let settings = sandbox_settings(&args.place)?;
    let name = &args.name;
    let definition = match &args.list {
        None => RuntimeDefinition::known(name)?,
        Some(file) => {
            let text = std::fs::read_to_string(file);
            let text = text.with_context(|| format!("{} cannot be read", file.display()))?;
            RuntimeDefinition::parse(&text).with_context(|| file.display().to_string())?
        }
    };
    let mut progress = InstallProgress::new();
    let installed = runtimes::install(&settings, name, &definition, args.again, &mut |event| {
        progress.show(event);
    });
    progress.end();
    match installed {
        Ok(installed) => print(args, &installed),
        Err(error @ RuntimeError::Broken(_)) => {
            output::print_error(&error.to_string());
            output::print_remark(&format!(
                "to start over: prowess runtime remove {name}, then install it again"
            ));
            Ok(Exit::Problems)
        }
        Err(error) => Err(error.into()),
    }
}

fn print(args: &Args, installed: &InstalledRuntime) -> anyhow::Result<Exit> {
    let (name, lock) = (&installed.name, &installed.lock);
    if args.json {
        output::print_json(&InstallOutput {
            name: name.as_str(),
            root: installed.root.display().to_string(),
            lock,
        })?;
        return Ok(Exit::Ok);
    }
    output::print_text(&format!(
        "{name}: {}, {} Debian, {} Python and {} npm packages\n",
        output::format_size(lock.bytes),
        lock.debian.len(),
        lock.python.len(),
        lock.npm.len(),
    ))?;
    output::print_remark(&format!(
        "to use it: runtime = \"{name}\" under [sandbox] in prowess.toml"
    ));
    Ok(Exit::Ok)
}
