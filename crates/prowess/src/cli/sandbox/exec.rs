//! `prowess sandbox exec [OPTIONS] -- COMMAND…`

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use prowess_sandbox::{
    Chunk, Command, DomainRule, Execution, Grade, Layer, Limits as SandboxLimits, NewSession,
    Outcome, Policy, Report, Requirements, Sandbox, SkillFiles, Stream,
};
use prowess_skill::{Limits, Profile};
use serde::Serialize;
use tokio::sync::mpsc;

use super::{Where, block_on, network};
use crate::cli::fetch::Fetch;
use crate::cli::skill::inputs;
use crate::cli::{output, paths};

/// The owner of sessions made on the command line.
const OWNER: &str = "cli";

/// Most bytes taken from standard input.
const MOST_STDIN: u64 = 64 << 20;

/// Run a command exactly as a model's code would run.
///
/// Standard output, standard error and the exit code are the command's own. Files it
/// leaves in /mnt/data are listed, and saved with --out.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run in this session and keep its files; `new` makes one and tells its id
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// A skill to show at /skills/NAME: a folder, an archive, a Markdown file or a URL
    #[arg(long = "skill", value_name = "SOURCE", conflicts_with = "session")]
    #[arg(value_parser = paths::path())]
    skills: Vec<PathBuf>,
    /// Seconds the command may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Memory it may use, such as 512M or 2G; at least 16M
    #[arg(long, value_name = "BYTES", value_parser = memory)]
    memory: Option<u64>,
    /// A domain it may connect to, such as example.com or *.example.com
    #[arg(long = "allow", value_name = "DOMAIN")]
    allowed: Vec<DomainRule>,
    /// Save the files it makes in this folder
    #[arg(long, value_name = "DIR", value_parser = paths::path())]
    out: Option<PathBuf>,
    /// A variable to set
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Pass standard input on to the command
    #[arg(short = 'i', long)]
    stdin: bool,
    /// Run even where this host lacks a layer of the sandbox
    #[arg(long)]
    reduced: bool,
    #[command(flatten)]
    place: Where,
    /// Print everything that came of it as JSON, and nothing else
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    fetch: Fetch,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(flatten)]
    report: &'a Report,
}

pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let skills = args
        .skills
        .iter()
        .map(|path| skill(path, &args.fetch))
        .collect::<Result<_, _>>()?;
    block_on(execute(args, skills))?
}

async fn execute(args: Args, skills: Vec<SkillFiles>) -> anyhow::Result<ExitCode> {
    let (mut settings, limits) = args.place.settings()?;
    settings.allow_reduced |= args.reduced;
    let has_index = settings.packages.is_some();
    let sandbox = Sandbox::open(settings).await?;
    let session = match args.session.as_deref() {
        Some(id) if id != "new" => id.to_owned(),
        _ => {
            let new = NewSession {
                policy: policy(&args, limits),
                layer: layer(&sandbox, &skills, has_index).await?,
                skills,
            };
            sandbox.create(OWNER, new).await?
        }
    };
    let (sender, receiver) = mpsc::unbounded_channel();
    let execution = Execution {
        command: Command::Argv(args.command.clone()),
        stdin: if args.stdin {
            read_stdin()?
        } else {
            Vec::new()
        },
        env: args.env.clone(),
        timeout: args.timeout,
        stream: (!args.json).then_some(sender),
        ..Execution::default()
    };
    let (report, ()) = tokio::join!(sandbox.exec(OWNER, &session, execution), print(receiver));
    let report = report?;
    if let Some(folder) = &args.out {
        save(&sandbox, &session, &report, folder).await?;
    }
    let kept = args.session.is_some().then_some(session.as_str());
    if args.json {
        output::json(&Printed {
            session: kept,
            report: &report,
        })?;
    } else {
        tell(&report, kept, args.out.as_deref());
    }
    if kept.is_none() {
        sandbox.destroy(OWNER, &session).await?;
    }
    let code = u8::try_from(report.outcome.exit_code()).unwrap_or(u8::MAX);
    Ok(ExitCode::from(code))
}

/// The packages that the skills ask for. Without an index the host's own have to do.
async fn layer(
    sandbox: &Sandbox,
    skills: &[SkillFiles],
    has_index: bool,
) -> anyhow::Result<Option<Layer>> {
    match Requirements::of_skills(skills)? {
        None => Ok(None),
        Some(needed) if has_index => Ok(Some(sandbox.layer(OWNER, &needed).await?)),
        Some(_) => {
            output::remark(
                "the packages that the skill asks for are not installed: there is no \
                 sandbox.package_index in the configuration",
            );
            Ok(None)
        }
    }
}

fn memory(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        enough if enough >= SandboxLimits::MIN_MEMORY_BYTES => Ok(enough),
        less => Err(format!(
            "{less} bytes are too few to start a program in; give at least 16M"
        )),
    }
}

fn policy(args: &Args, limits: SandboxLimits) -> Policy {
    let mut policy = Policy {
        network: network(&args.allowed),
        limits,
    };
    policy.limits.memory = args.memory.unwrap_or(policy.limits.memory);
    policy.limits.timeout = args.timeout.unwrap_or(policy.limits.timeout);
    policy
}

fn skill(path: &Path, fetch: &Fetch) -> anyhow::Result<SkillFiles> {
    let loaded = inputs::open_one(path, fetch)?.load(&Limits::default(), Profile::Lenient)?;
    let Some(skill) = loaded.skill else {
        anyhow::bail!(
            "{}: not a skill; see `prowess skill validate`",
            path.display()
        );
    };
    Ok(SkillFiles::of(&skill, skill.name.as_str()))
}

/// Passes output on as it comes, until the command has ended.
async fn print(mut receiver: mpsc::UnboundedReceiver<Chunk>) {
    while let Some(chunk) = receiver.recv().await {
        // A reader that has left, such as `head`, misses nothing.
        let _ = match chunk.stream {
            Stream::Stdout => std::io::stdout().write_all(&chunk.bytes),
            Stream::Stderr => std::io::stderr().write_all(&chunk.bytes),
        };
    }
    let _ = std::io::stdout().flush();
}

fn read_stdin() -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MOST_STDIN + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_STDIN {
        anyhow::bail!("standard input is longer than {}", output::size(MOST_STDIN));
    }
    Ok(bytes)
}

/// Copies the generated files out, each under its own path in `folder`.
async fn save(
    sandbox: &Sandbox,
    session: &str,
    report: &Report,
    folder: &Path,
) -> anyhow::Result<()> {
    for made in &report.outputs {
        let mut file = sandbox.get(OWNER, session, &made.path).await?;
        let place = folder.join(&made.path);
        if let Some(parent) = place.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::io::copy(&mut file, &mut std::fs::File::create(&place)?)?;
    }
    Ok(())
}

/// What is worth saying beside the command's own output.
fn tell(report: &Report, session: Option<&str>, out: Option<&Path>) {
    let said = match report.outcome {
        Outcome::Exit(_) | Outcome::Signal(_) => None,
        Outcome::Timeout => Some("ended: its time was up"),
        Outcome::OutOfMemory => Some("ended: it ran out of memory"),
        Outcome::OutputFlood => Some("ended: it wrote too much output"),
    };
    if let Some(said) = said {
        output::error(said);
    }
    let to_people = std::io::stderr().is_terminal();
    if let Grade::Reduced { missing } = &report.level {
        output::remark(&format!("reduced sandbox: without {}", missing.join(", ")));
    }
    for made in report.outputs.iter().filter(|_| to_people || out.is_some()) {
        let place = out.map_or_else(
            || made.path.clone(),
            |out| out.join(&made.path).display().to_string(),
        );
        let size = output::size(made.size);
        output::remark(&format!("made {place} ({}, {size})", made.mime_type));
    }
    for skipped in &report.skipped {
        output::remark(&format!("skipped {}: {:?}", skipped.path, skipped.reason));
    }
    if let Some(id) = session {
        output::remark(&format!("session {id}"));
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn bytes(text: &str) -> Result<u64, String> {
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

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_with_their_unit() {
        assert_eq!(bytes("512M"), Ok(512 << 20));
        assert_eq!(bytes("2g"), Ok(2 << 30));
        assert_eq!(bytes("7"), Ok(7));
        assert!(bytes("M").is_err() && bytes("1T").is_err() && bytes("99999999999G").is_err());
    }
}
