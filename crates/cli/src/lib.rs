//! The command line: one file per command.
//!
//! This file defines the commands and dispatches to their files. A command returns an
//! [`Exit`]; an error that ends it is printed once, here. What the commands do is in the
//! library `prowess` and the crates below it; here are arguments, output and signals.
//!
//! | module | owns |
//! |---|---|
//! | `demo` | `prowess demo` |
//! | `run` | `prowess run` |
//! | `batch`, `batches` | `prowess batch`; `prowess batches …`, on the store itself or on a server |
//! | `skill` | `prowess skill …` |
//! | `tools`, `call` | `prowess tools`, `prowess call` |
//! | `mcp` | `prowess mcp` |
//! | `serve` | `prowess serve` |
//! | `worker` | `prowess worker` |
//! | `cluster` | `prowess cluster …` |
//! | `models` | `prowess models` |
//! | `usage`, `usage_by_skill`, `remote_usage` | `prowess usage`, on the store itself or on a server |
//! | `keys`, `audit` | `prowess keys …`, `prowess audit`, on the store itself or on a server |
//! | `tenants`, `providers` | `prowess tenants`, `prowess providers`, on a server |
//! | `runs` | `prowess runs …`, on the store itself or on a server |
//! | `config` | `prowess config …` |
//! | `sandbox`, `runtime`, `doctor` | `prowess sandbox …`, `prowess runtime …`, `prowess doctor` |
//! | `completions`, `man` | `prowess completions`, `prowess man`: for shells and packages |
//! | `reference` | the commands of the reference validator |
//! | `toolbox` | toolboxes from sources, for the commands that use tools |
//! | `client` | address and key of the commands that call a server |
//! | `config_args` | arguments of the commands that read the configuration |
//! | `fetch`, `paths`, `store_args` | arguments: sources that are URLs, paths, tenants and times |
//! | `output`, `snippet`, `progress` | what is printed |
//! | `logging`, `log_writer` | the log of a server |
//! | `descriptors`, `realtime` | a server's limit on open files, its priority over commands |

mod audit;
mod batch;
mod batches;
mod call;
mod client;
mod cluster;
mod completions;
mod config;
mod config_args;
mod demo;
mod descriptors;
mod doctor;
mod fetch;
mod keys;
mod log_writer;
mod logging;
mod man;
mod mcp;
mod models;
mod output;
mod paths;
mod progress;
mod providers;
#[cfg(target_os = "linux")]
mod realtime;
mod reference;
mod remote_usage;
mod run;
mod runs;
mod runtime;
mod sandbox;
mod serve;
mod skill;
mod snippet;
mod store_args;
mod tenants;
mod toolbox;
mod tools;
mod usage;
mod usage_by_skill;
mod worker;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// How a command ended. The numbers are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Success.
    Ok = 0,
    /// The command ran and found a problem.
    Problems = 1,
    /// The command was called wrongly.
    Usage = 2,
    /// The command failed, or could not read or write something.
    Unreadable = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// The first line of the help; with a full stop, unlike the ones of commands.
const ABOUT: &str = "Agent Skills for any model.";

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  the command ran and found a problem
  2  wrong usage
  3  the command failed, or could not read or write something";

/// Agent Skills for any model.
#[derive(Debug, Parser)]
#[command(name = "prowess", version = VERSION, about = ABOUT, after_help = EXIT_CODES)]
#[command(propagate_version = false, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PROWESS_COMMIT"), ")");

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a local end-to-end demo (no API key)
    Demo(demo::Args),
    /// Send a prompt to a model, with skills
    Run(run::Args),
    /// Send many prompts to a model, with skills
    Batch(batch::Args),
    /// Create, validate, show, pack, scan, upload and download skills
    #[command(subcommand)]
    Skill(skill::Command),
    /// List the tools that skills provide to a model
    ///
    /// By default, those available before any skill is loaded; --loaded lists the tools of all
    /// skills.
    Tools(tools::Args),
    /// Call a tool as a model would
    ///
    /// A tool of a skill has a full name, `skill_name__tool`; its skill is loaded first. Standard
    /// output is the tool result that a model would get; the exit code is 1 when the result is an
    /// error.
    Call(call::Args),
    /// Run an MCP server for skills on standard input and output
    ///
    /// The agent gets the tools that `prowess tools --code` lists, and the tools of a skill once it
    /// is loaded; files of skills and of its own container as resources; a prompt for each skill;
    /// and the skills extension of MCP. Changes in the folders take effect immediately. Code runs
    /// in a sandbox container that is deleted when the agent disconnects.
    Mcp(mcp::Args),
    /// Run the server: model gateway, skills API, files, MCP
    Serve(serve::Args),
    /// Run a worker: commands of a cluster's gateways, in this host's sandbox
    Worker(worker::Args),
    /// Show the gateways and workers of a cluster
    #[command(subcommand)]
    Cluster(cluster::Command),
    /// Create, list, change, rotate and revoke API keys
    #[command(subcommand)]
    Keys(keys::Command),
    /// Read the audit log
    Audit(audit::Args),
    /// List the tenants of a server
    Tenants(tenants::Args),
    /// Show the health of a server's providers
    Providers(providers::Args),
    /// List runs, show one, follow or cancel a run of a server
    Runs(runs::Args),
    /// List batches, show one, or cancel one
    Batches(batches::Args),
    /// Check, show or reload a configuration, or import one from LiteLLM
    #[command(subcommand)]
    Config(config::Command),
    /// Show known models, their limits and prices
    Models(models::Args),
    /// Show model usage and cost
    Usage(usage::Args),
    /// Run commands in the sandbox, without a server
    #[command(subcommand)]
    Sandbox(sandbox::Command),
    /// Install, list, check and remove runtimes: programs and libraries for skills
    #[command(subcommand)]
    Runtime(runtime::Command),
    /// Check this installation: sandbox, runtime, store, providers, port and disk
    ///
    /// Run it as the user that runs the server, with the same configuration and environment.
    Doctor(doctor::Args),
    /// Print a shell completion script
    Completions(completions::Args),
    // Only packages need it.
    #[command(hide = true)]
    Man(man::Args),
    /// Validate a skill like the reference validator
    #[command(name = "validate")]
    ReferenceValidate(reference::Args),
    /// Print a skill's properties as JSON, like the reference validator
    #[command(name = "read-properties")]
    ReadProperties(reference::Args),
    /// Print <available_skills> for a prompt, like the reference validator
    #[command(name = "to-prompt")]
    ToPrompt(reference::Args),
}

/// Arguments that parse but are invalid together.
#[derive(Debug)]
struct UsageError(String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// An error that ends in [`Exit::Usage`].
fn usage_error(message: impl Into<String>) -> anyhow::Error {
    UsageError(message.into()).into()
}

/// Parses the command line, runs it and returns the exit code.
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let ended = match reference::alias(&args) {
        Some(alias) => {
            reference::main(alias, args.get(1..).unwrap_or_default()).map(ExitCode::from)
        }
        None => run(Cli::parse_from(args).command),
    };
    let code = ended.unwrap_or_else(|error| {
        if output::is_broken_pipe(&error) {
            return Exit::Ok.into();
        }
        output::print_error(&format!("{error:#}"));
        if client::lacks_key(&error) {
            output::print_remark("pass --api-key KEY, or set PROWESS_API_KEY");
        }
        match error.downcast_ref::<UsageError>() {
            Some(_) => Exit::Usage.into(),
            None => Exit::Unreadable.into(),
        }
    });
    logging::flush();
    code
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    let exit = match command {
        // The exit code of a sandboxed command is returned unchanged.
        Command::Sandbox(command) => return sandbox::run(command),
        Command::Demo(args) => demo::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Batch(args) => batch::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Runtime(command) => runtime::run(&command),
        Command::Skill(command) => skill::run(command),
        Command::Tools(args) => tools::run(&args),
        Command::Call(args) => call::run(&args),
        Command::Mcp(args) => mcp::run(args),
        Command::Serve(args) => serve::run(&args),
        Command::Worker(args) => worker::run(&args),
        Command::Cluster(command) => cluster::run(&command),
        Command::Keys(command) => keys::run(&command),
        Command::Audit(args) => audit::run(&args),
        Command::Tenants(args) => tenants::run(&args),
        Command::Providers(args) => providers::run(&args),
        Command::Runs(args) => runs::run(&args),
        Command::Batches(args) => batches::run(&args),
        Command::Config(command) => config::run(&command),
        Command::Models(args) => models::run(&args),
        Command::Usage(args) => usage::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::ReferenceValidate(args) => reference::validate("prowess", &args.paths),
        Command::ReadProperties(args) => reference::read_properties("prowess", &args.paths),
        Command::ToPrompt(args) => reference::to_prompt("prowess", &args.paths),
    };
    exit.map(ExitCode::from)
}

/// The tool that SARIF results name.
fn sarif_tool() -> prowess_skill::sarif::SarifTool<'static> {
    prowess_skill::sarif::SarifTool {
        name: "prowess",
        version: env!("CARGO_PKG_VERSION"),
        information_uri: env!("CARGO_PKG_REPOSITORY"),
    }
}

/// Formats a time to the second, in UTC.
fn format_date(seconds: i64) -> String {
    let time = jiff::Timestamp::from_second(seconds);
    time.map_or_else(|_| "?".to_owned(), |time| time.to_string())
}

/// Formats a path as it was written.
fn display_path(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a command as a shell splits them; single quotes are its only syntax.
    fn shell_words(command: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (number, part) in command.split('\'').enumerate() {
            match number % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }

    #[test]
    fn commands_that_pages_of_the_console_show_are_accepted() {
        let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../console/templates");
        let mut seen = 0;
        for entry in std::fs::read_dir(templates).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            // A command is an argument of a macro, or all of an element.
            let pieces = text.split(['"', '<', '>']);
            for command in pieces.filter(|piece| piece.starts_with("prowess ")) {
                if let Err(error) = Cli::try_parse_from(shell_words(command)) {
                    panic!("{command}: {error}");
                }
                seen += 1;
            }
        }
        assert!(seen > 4, "the search is broken");
    }
}
