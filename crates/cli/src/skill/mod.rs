//! `prowess skill …`: one file per command.

mod default;
mod delete;
mod diff;
mod diff_text;
mod explain;
mod import;
pub(super) mod inputs;
mod label;
mod list;
mod list_remote;
mod new;
mod note;
mod overlap;
mod overlap_local;
mod pack;
mod pull;
mod push;
mod restore;
mod revocation_json;
mod revoke;
mod route;
mod route_local;
mod scan;
mod show;
mod stored_line;
mod usage;
mod validate;
mod versions;

use clap::Subcommand;

use super::Exit;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create a new skill
    New(new::Args),
    /// Validate skills and explain problems
    Validate(validate::Args),
    /// Show the content of a skill
    Show(show::Args),
    /// List the skills of folders and archives, or of a server
    List(list::Args),
    /// Rank skills for a task, and show why
    Route(route::Args),
    /// List skills that are found for each other's queries
    ///
    /// The worst come first. Each skill is searched for by what it says about when to use it,
    /// without its name.
    Overlap(overlap::Args),
    /// Pack a skill into an archive
    Pack(pack::Args),
    /// Scan skills for security problems, without running anything
    Scan(scan::Args),
    /// Explain a rule, or list all of them
    Explain(explain::Args),
    /// Upload skills to a server
    ///
    /// Each becomes a new skill, or a new version of the skill with the same name. Nothing is
    /// uploaded when the latest version has the same files. If one of several skills is refused,
    /// the others are still uploaded, and the exit code is 1.
    Push(push::Args),
    /// Download a skill from a server
    Pull(pull::Args),
    /// Have a server import skills from a URL
    ///
    /// They become new skills, or new versions of those with the same names. Nothing is stored when
    /// the latest version has the same files. For skills on this machine use push.
    Import(import::Args),
    /// List the versions of a skill on a server
    Versions(versions::Args),
    /// Show what differs between two versions of a skill, or between two skills
    ///
    /// Versions are those of a skill on a server; two skills are compared on this machine. The
    /// comparison has fields of the frontmatter, files, diagnostics and findings of the scanner.
    /// The exit code is 1 if anything differs.
    Diff(diff::Args),
    /// List, set, move or delete the labels of a skill on a server
    ///
    /// A label points to one version; requests can name it instead of a version.
    Label(label::Args),
    /// Set or delete the note of a version of a skill on a server
    Note(note::Args),
    /// Set the default version of a skill on a server
    Default(default::Args),
    /// Revoke a version of a skill on a server: nothing can use it
    ///
    /// It stays stored. `latest` leads to the newest other version.
    Revoke(revoke::Args),
    /// Restore a revoked version of a skill on a server
    Restore(restore::Args),
    /// List how often the skills of a server were offered, loaded and used
    Usage(usage::Args),
    /// Delete a skill, or a version of it, from a server
    Delete(delete::Args),
}

pub(super) fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::New(args) => new::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Show(args) => show::run(&args),
        Command::List(args) => list::run(&args),
        Command::Route(args) => route::run(&args),
        Command::Overlap(args) => overlap::run(&args),
        Command::Pack(args) => pack::run(&args),
        Command::Scan(args) => scan::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Push(args) => push::run(&args),
        Command::Pull(args) => pull::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Versions(args) => versions::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Label(args) => label::run(&args),
        Command::Note(args) => note::run(&args),
        Command::Default(args) => default::run(&args),
        Command::Revoke(args) => revoke::run(&args),
        Command::Restore(args) => restore::run(&args),
        Command::Usage(args) => usage::run(&args),
        Command::Delete(args) => delete::run(&args),
    }
}
