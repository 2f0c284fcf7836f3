//! `prowess config check|schema|docs|import|show|reload`

mod check;
mod explain;
mod import;
mod reload;
mod show;

use prowess::config;

use super::{Exit, output};

pub(super) use check::missing_keys;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Check a configuration without starting a server
    Check(check::CheckArgs),
    /// Print the JSON schema of prowess.toml, for editors
    Schema,
    /// Print the documentation of prowess.toml, as Markdown
    Docs,
    /// Convert a LiteLLM config.yaml to a prowess.toml
    Import(import::ImportArgs),
    /// Print the configuration as a running server has read it, as JSON
    ///
    /// A secret is shown as where it is read from (`env:NAME`, `file:PATH`), or as hidden. Needs the
    /// server's master key.
    Show(show::ShowConfigArgs),
    /// Make a running server read its configuration again
    ///
    /// Requests that begin from then on have the new configuration; those in progress go on with
    /// theirs. If anything is wrong, or can only change with a restart, nothing changes. SIGHUP
    /// does the same.
    Reload(reload::ReloadArgs),
}

pub(super) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Check(args) => check::run(args),
        Command::Schema => output::print_json(&config::schema()).map(|()| Exit::Ok),
        Command::Docs => output::write_data(&config::documentation()).map(|()| Exit::Ok),
        Command::Import(args) => import::run(args),
        Command::Show(args) => show::run(args),
        Command::Reload(args) => reload::run(args),
    }
}
