//! `prowess run -m MODEL --skill S "PROMPT"`: one request with skills, from the shell.
//!
//! | module | owns |
//! |---|---|
//! | `watch` | what people see while it goes on |
//! | `lines` | the same as JSON, a line each |

mod lines;
mod watch;

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::builder::NonEmptyStringValueParser;
use futures_util::StreamExt;
use prowess_engine::Settings as RunSettings;
use prowess_sandbox::{DomainRule, Network};
use prowess_wire::neutral::StopReason;

use super::fetch::Fetch;
use super::sandbox::block_on;
use super::serve::Place;
use super::{Exit, output, paths, wrong_usage};
use crate::config::Config;
use crate::library::{Answer, Error, Event, Folder, Prowess, Request, Run, SkillRef, load_all};

/// Most bytes of a prompt taken from standard input.
const MOST_STDIN: u64 = 16 << 20;

const MORE: &str = "\
The answer goes to standard output as it comes, what happens behind it to standard
error. Files that the model's code makes are saved.

Exit codes:
  0  the model has answered
  1  it could not, or was cut short by a limit; what came of it is printed and saved
  2  wrong usage
  3  a skill, the configuration or a file could not be read or written";

/// Ask a model, with skills.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub(super) struct Args {
    /// The model: a name of the configuration, or provider/model
    #[arg(short, long, value_name = "MODEL")]
    model: String,
    /// A skill it may use: an id (skill_…, skill_…@VERSION), a folder, an archive or a
    /// URL; as often as wanted
    #[arg(long = "skill", value_name = "PATH_OR_ID")]
    skills: Vec<String>,
    /// What to ask; `-` reads it from standard input
    #[arg(value_name = "PROMPT", value_parser = NonEmptyStringValueParser::new())]
    prompt: String,
    /// Instructions that go before it
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Tokens each turn of the model may have
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,
    /// Turns the model may take
    #[arg(long, value_name = "TURNS", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Seconds it may take in all
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// A domain the model's code may connect to, such as example.com or *.example.com
    #[arg(long = "allow", value_name = "DOMAIN")]
    allowed: Vec<DomainRule>,
    /// Go on in the session of an earlier run, with its files
    #[arg(long, value_name = "ID")]
    container: Option<String>,
    /// Run no code: skills are read only
    #[arg(long)]
    no_code: bool,
    /// Run code even where this host lacks a layer of the sandbox
    #[arg(long)]
    reduced: bool,
    /// Where to save the files that are made; one whose name is taken gets a number
    #[arg(short, long, value_name = "DIR", default_value = ".", value_parser = paths::path())]
    out: PathBuf,
    /// Replace files that are there already
    #[arg(long)]
    force: bool,
    /// Print everything that happens as JSON, a line each, and nothing else
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    fetch: Fetch,
}

/// Whoever is told what happens.
trait Teller {
    fn event(&mut self, event: &Event) -> anyhow::Result<()>;
    fn saved(&mut self, path: &std::path::Path) -> anyhow::Result<()>;
    fn ended(&mut self, answer: &Answer) -> anyhow::Result<()>;
    fn failed(&mut self, code: &str, message: &str) -> anyhow::Result<()>;
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let config = args.place.load(None)?;
    let request = request(args, &config)?;
    let mut teller: Box<dyn Teller> = match args.json {
        true => Box::new(lines::Lines),
        false => Box::new(watch::Watch::new()),
    };
    block_on(ask(args, &config, request, &mut *teller))?
}

async fn ask(
    args: &Args,
    config: &Config,
    request: Request,
    teller: &mut dyn Teller,
) -> anyhow::Result<Exit> {
    let prowess = open(args, config).await?;
    let exit = match prowess.run(request).await {
        Ok(run) => follow(args, &prowess, run, teller).await,
        Err(error) => failed(teller, &error),
    };
    prowess.close().await;
    exit
}

async fn open(args: &Args, config: &Config) -> anyhow::Result<Prowess> {
    let builder = Prowess::builder()
        .config(config)
        .runs(run_settings(args, config));
    let reduced = args.reduced;
    let builder = match args.no_code {
        true => builder.no_sandbox(),
        // Nothing is made ahead for a next command.
        false => builder.sandbox(move |settings| {
            settings.warm = 0;
            settings.allow_reduced = reduced;
        }),
    };
    builder.open().await.context("cannot begin")
}

fn run_settings(args: &Args, config: &Config) -> RunSettings {
    let mut settings = config.server.settings.runs.clone();
    settings.limits.turns = args.max_turns.unwrap_or(settings.limits.turns);
    if let Some(seconds) = args.timeout {
        settings.limits.wall = Duration::from_secs(seconds);
    }
    if !args.allowed.is_empty() {
        settings.policy.network = Network::Allow(args.allowed.clone());
    }
    settings
}

fn request(args: &Args, config: &Config) -> anyhow::Result<Request> {
    let mut request = Request::new(&args.model, prompt(&args.prompt)?);
    if let Some(text) = &args.system {
        request = request.system(text);
    }
    if let Some(tokens) = args.max_tokens {
        request = request.max_tokens(tokens);
    }
    if let Some(id) = &args.container {
        request = request.container(id);
    }
    if args.no_code {
        request = request.without_code();
    }
    let aliases = &config.server.settings.runs.aliases;
    for named in &args.skills {
        request = match SkillRef::from(named.as_str()) {
            SkillRef::Source(place) if !aliases.contains_key(named) || place.exists() => {
                let place = prowess_source::home::expand(&place);
                let place = place.map_err(|error| wrong_usage(error.to_string()))?;
                let opened = args.fetch.open_one(&place)?;
                let skills = load_all(&place, opened)?.into_iter();
                skills.fold(request, Request::skill)
            }
            skill => request.skill(skill),
        };
    }
    Ok(request)
}

fn prompt(written: &str) -> anyhow::Result<String> {
    if written != "-" {
        return Ok(written.to_owned());
    }
    let mut text = String::new();
    let mut input = std::io::stdin().take(MOST_STDIN + 1);
    input
        .read_to_string(&mut text)
        .context("standard input cannot be read")?;
    if text.len() as u64 > MOST_STDIN {
        anyhow::bail!("standard input is longer than {}", output::size(MOST_STDIN));
    }
    Ok(text)
}

/// Tells what happens until the run ends, or its time is up, and saves what it made.
async fn follow(
    args: &Args,
    prowess: &Prowess,
    mut run: Run,
    teller: &mut dyn Teller,
) -> anyhow::Result<Exit> {
    let time = args.timeout.map_or(Duration::MAX, Duration::from_secs);
    let told = async {
        while let Some(event) = run.next().await {
            match event {
                Ok(event) => teller.event(&event)?,
                Err(error) => return failed(teller, &error),
            }
        }
        Ok(Exit::Ok)
    };
    let told = match tokio::time::timeout(time, told).await {
        Ok(told) => told?,
        Err(_) => {
            teller.failed("time-up", "its time is up")?;
            Exit::Problems
        }
    };
    let mut folder = Folder::new(&args.out);
    if args.force {
        folder = folder.overwriting();
    }
    for file in run.files() {
        teller.saved(&prowess.save(file, &mut folder).await?)?;
    }
    if told != Exit::Ok {
        return Ok(told);
    }
    let answer = run.finish().await?;
    teller.ended(&answer)?;
    Ok(match answer.response.stop_reason {
        Some(StopReason::EndTurn | StopReason::StopSequence) => Exit::Ok,
        _ => Exit::Problems,
    })
}

fn failed(teller: &mut dyn Teller, error: &Error) -> anyhow::Result<Exit> {
    teller.failed(error.code(), &error.to_string())?;
    Ok(match error {
        Error::Model(_) | Error::Run(_) => Exit::Problems,
        _ => Exit::Unreadable,
    })
}
