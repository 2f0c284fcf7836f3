//! `prowess skill …`: one file per verb.

mod explain;
pub(super) mod inputs;
mod list;
mod new;
mod pack;
mod scan;
mod show;
mod validate;

use clap::Subcommand;

use super::Exit;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Start a new skill
    New(new::Args),
    /// Check skills and explain what is wrong
    Validate(validate::Args),
    /// Show what is in a skill
    Show(show::Args),
    /// List the skills of folders and archives
    List(list::Args),
    /// Pack a skill into an archive
    Pack(pack::Args),
    /// Look for attacks and bad habits, without running anything
    Scan(scan::Args),
    /// Explain a rule, or list all of them
    Explain(explain::Args),
}

pub(super) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::New(args) => new::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Show(args) => show::run(&args),
        Command::List(args) => list::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Scan(args) => scan::run(&args),
        Command::Explain(args) => explain::run(&args),
    }
}
