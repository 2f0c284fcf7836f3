//! `prowess sandbox exec [OPTIONS] -- COMMAND…`

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use prowess_sandbox::{
    Command, CommandOutcome, ContainerSpec, DomainRule, Error as SandboxError, Execution,
    ExecutionReport, Grade, Layer, OutputChunk, OutputStream, Policy, Requirements, Sandbox,
    SandboxLimits, SkillFiles,
};
use prowess_skill::{BundleLimits, Profile};
use serde::Serialize;
use tokio::sync::mpsc;

use super::terminal_text::CommandOutputWriter;
use super::{SandboxArgs, block_on, network_policy};
use crate::fetch::FetchArgs;
use crate::serve::Signals;
use crate::skill::inputs;
use crate::toolbox::create_output;
use crate::{output, paths};

/// The owner of containers that the command line creates.
const OWNER: &str = "cli";

/// The exit code after a signal, as shells report it after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Maximum size of standard input.
const MAX_STDIN_BYTES: u64 = 64 << 20;

/// Run a command exactly as a model's code runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run in this container and keep its files; `new` creates one and prints its id
    #[arg(long, alias = "session", value_name = "ID")]
    container: Option<String>,
    /// A skill to mount at /skills/NAME: a folder, an archive, a Markdown file or a URL. Can be
    /// repeated
    #[arg(long = "skill", value_name = "SOURCE", conflicts_with = "container")]
    #[arg(value_parser = paths::path_parser())]
    skills: Vec<PathBuf>,
    /// Timeout in seconds
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<Duration>,
    /// Memory limit, such as 512M or 2G; at least 16M
    #[arg(long, value_name = "BYTES", value_parser = parse_memory)]
    memory: Option<u64>,
    /// A domain the command may connect to, such as example.com or *.example.com. Can be repeated
    #[arg(long = "allow", value_name = "DOMAIN")]
    allowed: Vec<DomainRule>,
    /// Save generated files in this folder
    #[arg(long, value_name = "DIR", value_parser = paths::path_parser())]
    out: Option<PathBuf>,
    /// An environment variable to set. Can be repeated
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = parse_variable)]
    env: Vec<(String, String)>,
    /// Pass standard input to the command
    #[arg(short = 'i', long)]
    stdin: bool,
    /// Run even if this host supports only a reduced sandbox
    #[arg(long)]
    reduced: bool,
    #[command(flatten)]
    place: SandboxArgs,
    /// Print only the result, as JSON
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    fetch: FetchArgs,
}

/// What `--json` prints.
#[derive(Serialize)]
struct ExecOutput<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(flatten)]
    report: &'a ExecutionReport,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let skills = args
        .skills
        .iter()
        .map(|path| load_skill(path, &args.fetch))
        .collect::<Result<_, _>>()?;
    block_on(execute(args, skills))?
}

async fn execute(args: Args, skills: Vec<SkillFiles>) -> anyhow::Result<ExitCode> {
    let (mut settings, limits) = args.place.settings()?;
    settings.allow_reduced |= args.reduced;
    let sandbox = Sandbox::open(settings).await?;
    let stdin = match args.stdin {
        true => read_stdin()?,
        false => Vec::new(),
    };
    let container = match args.container.as_deref() {
        Some(id) if id != "new" => id.to_owned(),
        _ => {
            let new = ContainerSpec {
                policy: run_policy(&args, limits),
                layer: install_layer(&sandbox, &skills).await?,
                skills,
            };
            sandbox.create(OWNER, new).await?
        }
    };
    // From here on a signal ends the command only: what it ran in is removed below.
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let ran = tokio::select! {
        ran = run_command(&args, &sandbox, &container, stdin) => ran,
        () = signals.next() => Ok(ExitCode::from(INTERRUPTED)),
    };
    signals.end_process(INTERRUPTED);
    // Also after an error: nobody knows its id.
    let removed = match args.container {
        None => sandbox.destroy(OWNER, &container).await,
        Some(_) => Ok(()),
    };
    let code = ran?;
    removed?;
    Ok(code)
}

/// Runs the command in a container, and prints and saves what it leaves.
async fn run_command(
    args: &Args,
    sandbox: &Sandbox,
    container: &str,
    stdin: Vec<u8>,
) -> anyhow::Result<ExitCode> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let execution = Execution {
        command: Command::Argv(args.command.clone()),
        stdin,
        env: args.env.clone(),
        timeout: args.timeout,
        stream: (!args.json).then_some(sender),
        ..Execution::default()
    };
    let (report, ()) = tokio::join!(
        sandbox.exec(OWNER, container, execution),
        forward_output(receiver)
    );
    let report = report?;
    let unsaved = match &args.out {
        Some(folder) => save_outputs(sandbox, container, &report, folder).await?,
        None => Vec::new(),
    };
    let kept = args.container.is_some().then_some(container);
    if args.json {
        output::print_json(&ExecOutput {
            session: kept,
            report: &report,
        })?;
    } else {
        print_report(&report, kept, args.out.as_deref(), &unsaved);
    }
    let code = u8::try_from(report.outcome.exit_code()).unwrap_or(u8::MAX);
    Ok(ExitCode::from(code))
}

/// Installs the packages that the skills declare. Without an index, only the host's own are
/// available.
async fn install_layer(sandbox: &Sandbox, skills: &[SkillFiles]) -> anyhow::Result<Option<Layer>> {
    let Some(needed) = Requirements::from_skills(skills)? else {
        return Ok(None);
    };
    match sandbox.layer(OWNER, &needed).await {
        Ok(layer) => {
            layer.remark().into_iter().for_each(output::print_remark);
            Ok(Some(layer))
        }
        Err(SandboxError::NoIndex { setting, .. }) => {
            output::print_remark(&format!(
                "the skill's packages are not installed: sandbox.{setting} is not configured"
            ));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn parse_memory(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        enough if enough >= SandboxLimits::MIN_MEMORY_BYTES => Ok(enough),
        less => Err(format!(
            "{less} bytes of memory are too few to start a program; use at least 16M"
        )),
    }
}

fn run_policy(args: &Args, limits: SandboxLimits) -> Policy {
    let mut policy = Policy {
        network: network_policy(&args.allowed),
        limits,
    };
    policy.limits.memory = args.memory.unwrap_or(policy.limits.memory);
    policy.limits.timeout = args.timeout.unwrap_or(policy.limits.timeout);
    policy
}

fn load_skill(path: &Path, fetch: &FetchArgs) -> anyhow::Result<SkillFiles> {
    let loaded = inputs::open_one(path, fetch)?.load(&BundleLimits::default(), Profile::Lenient)?;
    let Some(skill) = loaded.skill else {
        anyhow::bail!(
            "{}: not a skill; see `prowess skill validate`",
            path.display()
        );
    };
    Ok(SkillFiles::from_skill(&skill, skill.name.as_str()))
}

/// Forwards output until the command has ended.
async fn forward_output(mut receiver: mpsc::UnboundedReceiver<OutputChunk>) {
    let mut stdout = CommandOutputWriter::new(std::io::stdout());
    let mut stderr = CommandOutputWriter::new(std::io::stderr());
    while let Some(chunk) = receiver.recv().await {
        // A closed reader, such as `head`, is not an error.
        let _ = match chunk.stream {
            OutputStream::Stdout => stdout.write(&chunk.bytes),
            OutputStream::Stderr => stderr.write(&chunk.bytes),
        };
    }
}

fn read_stdin() -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MAX_STDIN_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_STDIN_BYTES {
        anyhow::bail!(
            "standard input is longer than {}",
            output::format_size(MAX_STDIN_BYTES)
        );
    }
    Ok(bytes)
}

/// Copies the generated files out, each under its own path in `folder`. Returns the paths of those
/// that were not.
async fn save_outputs(
    sandbox: &Sandbox,
    container: &str,
    report: &ExecutionReport,
    folder: &Path,
) -> anyhow::Result<Vec<String>> {
    let mut unsaved = Vec::new();
    for made in &report.outputs {
        let mut file = sandbox.get(OWNER, container, &made.path).await?;
        match create_output(&made.path, &folder.join(&made.path))? {
            Some(mut saved) => {
                std::io::copy(&mut file, &mut saved)?;
            }
            None => unsaved.push(made.path.clone()),
        }
    }
    Ok(unsaved)
}

/// Prints remarks about the command's end and its files.
fn print_report(
    report: &ExecutionReport,
    container: Option<&str>,
    out: Option<&Path>,
    unsaved: &[String],
) {
    let ending = match report.outcome {
        CommandOutcome::Exit(_) | CommandOutcome::Signal(_) => None,
        CommandOutcome::Timeout => Some("killed: timeout"),
        CommandOutcome::OutOfMemory => Some("killed: out of memory"),
        CommandOutcome::OutputFlood => Some("killed: too much output"),
    };
    if let Some(ending) = ending {
        output::print_error(ending);
    }
    let to_people = std::io::stderr().is_terminal();
    if let Grade::Reduced { missing } = &report.level {
        output::print_remark(&format!("reduced sandbox: without {}", missing.join(", ")));
    }
    let is_shown = to_people || out.is_some();
    for made in report.outputs.iter().filter(|_| is_shown) {
        if unsaved.contains(&made.path) {
            continue;
        }
        let place = out.map_or_else(
            || made.path.clone(),
            |out| out.join(&made.path).display().to_string(),
        );
        let place = output::strip_controls(&place, true);
        let size = output::format_size(made.size);
        output::print_remark(&format!("created {place} ({}, {size})", made.mime_type));
    }
    for skipped in &report.skipped {
        let path = output::strip_controls(&skipped.path, true);
        output::print_remark(&format!("skipped {path}: {}", skipped.reason));
    }
    if let Some(id) = container {
        output::print_remark(&format!("container {id}"));
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits
        .parse()
        .map_err(|_| "not a number of bytes".to_owned())?;
    let shift = match text
        .strip_prefix(digits)
        .unwrap_or_default()
        .to_ascii_uppercase()
        .as_str()
    {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        unit => return Err(format!("unknown unit {unit}; use K, M or G")),
    };
    number
        .checked_shl(shift)
        .filter(|n| n >> shift == number)
        .ok_or_else(|| "too many bytes".into())
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_with_their_unit() {
        assert_eq!(parse_bytes("512M"), Ok(512 << 20));
        assert_eq!(parse_bytes("2g"), Ok(2 << 30));
        assert_eq!(parse_bytes("7"), Ok(7));
        assert!(
            parse_bytes("M").is_err()
                && parse_bytes("1T").is_err()
                && parse_bytes("99999999999G").is_err()
        );
    }
}
