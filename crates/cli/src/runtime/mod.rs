//! `prowess runtime`: root file systems with programs and libraries for the code of skills.
//! What they are made of, and how, is in the sandbox; here are arguments and output.

mod check;
mod install;
mod list;
mod progress;
mod remove;

use prowess::config::BackendSetting;
use prowess_sandbox::SandboxSettings;

use super::Exit;
use super::config_args::ConfigArgs;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List runtimes, and whether they are installed
    List(list::Args),
    /// Install a runtime, or continue an interrupted installation
    Install(install::Args),
    /// Check whether programs and modules of a runtime work in the sandbox
    Check(check::Args),
    /// Remove a runtime
    Remove(remove::Args),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::List(args) => list::run(args),
        Command::Install(args) => install::run(args),
        Command::Check(args) => check::run(args),
        Command::Remove(args) => remove::run(args),
    }
}

/// The settings of the native sandbox, which is the one that uses runtimes.
fn sandbox_settings(place: &ConfigArgs) -> anyhow::Result<SandboxSettings> {
    let config = place.load(None)?.sandbox;
    let Some(settings) = config.settings(BackendSetting::Native) else {
        anyhow::bail!("the sandbox is off (sandbox.backend)");
    };
    Ok(settings)
}
