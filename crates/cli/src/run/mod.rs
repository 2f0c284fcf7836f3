//! `prowess run -m MODEL --skill S "PROMPT"`: one request with skills, from the shell.
//!
//! | module | owns |
//! |---|---|
//! | `background` | submitting a run to a server, which goes on with it alone |
//! | `terminal`, `printer` | output for people; its lines, also for runs of a server |
//! | `json_lines` | output as JSON lines |

mod background;
mod json_lines;
pub(crate) mod printer;
mod terminal;

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::builder::NonEmptyStringValueParser;
use futures_util::StreamExt;
use prowess_engine::EngineSettings as RunSettings;
use prowess_sandbox::{DomainRule, Network};
use prowess_wire::neutral::StopReason;

use super::config_args::ConfigArgs;
use super::fetch::FetchArgs;
use super::sandbox::block_on;
use super::serve::Signals;
use super::{Exit, output, paths, usage_error};
use prowess::config::Config;
use prowess::{
    Error, Event, OutputFolder, PromptRequest, Prowess, Run, RunOutput, SkillRef, load_opened,
};

/// Maximum size of a prompt read from standard input.
const MAX_STDIN_BYTES: u64 = 16 << 20;

const AFTER_HELP: &str = "\
The answer is streamed to standard output, tool calls and other events go to standard
error. Files that the model's code creates are saved.

Exit codes:
  0  the model completed its answer, or the server accepted the run (--background)
  1  the run failed, or was cut short by a limit or Ctrl-C; partial results are printed and
     saved
  2  wrong usage
  3  a skill, the configuration or a file could not be read or written";

/// Send a prompt to a model, with skills.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The model: a name from the configuration, or provider/model
    #[arg(short, long, value_name = "MODEL")]
    model: String,
    /// A skill to use: an id (skill_…, skill_…@VERSION), a folder, an archive or a URL. Can
    /// be repeated
    #[arg(long = "skill", value_name = "PATH_OR_ID")]
    skills: Vec<String>,
    /// The prompt; `-` reads it from standard input
    #[arg(value_name = "PROMPT", value_parser = NonEmptyStringValueParser::new())]
    prompt: String,
    /// System prompt
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Maximum output tokens per turn
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,
    /// Maximum number of turns
    #[arg(long, value_name = "TURNS", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Timeout of the whole run in seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// A domain the model's code may connect to, such as example.com or *.example.com. Can be
    /// repeated
    #[arg(long = "allow", value_name = "DOMAIN")]
    allowed: Vec<DomainRule>,
    /// Continue in the container of an earlier run, with its files
    #[arg(long, value_name = "ID")]
    container: Option<String>,
    /// Submit the run to a server, print its id and return at once; see `prowess runs attach`.
    /// The server's settings apply
    #[arg(long, conflicts_with_all = [
        "max_turns", "timeout", "no_code", "reduced", "out", "force",
    ])]
    background: bool,
    /// With --background: the server's URL; default: PROWESS_URL
    #[arg(long, value_name = "URL", requires = "background")]
    server: Option<String>,
    /// With --background: the API key
    #[arg(
        long,
        value_name = "KEY",
        env = "PROWESS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
    /// Run no code: skills can only be read
    #[arg(long)]
    no_code: bool,
    /// Run code even if this host supports only a reduced sandbox
    #[arg(long)]
    reduced: bool,
    /// Where to save generated files; a number is added to names that exist
    #[arg(short, long, value_name = "DIR", default_value = ".", value_parser = paths::path_parser())]
    out: PathBuf,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Print only JSON, one line per event
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: ConfigArgs,
    #[command(flatten)]
    fetch: FetchArgs,
}

/// Receives the events of a run.
trait RunReporter {
    fn on_event(&mut self, event: &Event) -> anyhow::Result<()>;
    fn on_saved(&mut self, path: &std::path::Path) -> anyhow::Result<()>;
    fn on_ended(&mut self, answer: &RunOutput) -> anyhow::Result<()>;
    fn on_failed(&mut self, code: &str, message: &str) -> anyhow::Result<()>;
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.background {
        return background::run(args);
    }
    let config = args.place.load(None)?;
    let request = build_request(args, &config)?;
    let mut reporter: Box<dyn RunReporter> = if args.json {
        Box::new(json_lines::JsonLinesReporter)
    } else {
        Box::new(terminal::TerminalReporter::new())
    };
    block_on(run_request(args, &config, request, &mut *reporter))?
}

async fn run_request(
    args: &Args,
    config: &Config,
    request: PromptRequest,
    reporter: &mut dyn RunReporter,
) -> anyhow::Result<Exit> {
    let prowess = open_prowess(args, config).await?;
    let exit = start_and_follow(args, &prowess, request, reporter).await;
    prowess.close().await;
    exit
}

async fn start_and_follow(
    args: &Args,
    prowess: &Prowess,
    request: PromptRequest,
    reporter: &mut dyn RunReporter,
) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let started = tokio::select! {
        started = prowess.run(request) => Some(started),
        () = signals.next() => None,
    };
    match started {
        Some(Ok(run)) => follow(args, prowess, run, signals, reporter).await,
        Some(Err(error)) => {
            signals.end_process(Exit::Problems as u8);
            report_failure(reporter, &error)
        }
        None => {
            signals.end_process(Exit::Problems as u8);
            report_interrupt(reporter)
        }
    }
}

async fn open_prowess(args: &Args, config: &Config) -> anyhow::Result<Prowess> {
    let builder = Prowess::builder()
        .config(config)
        .runs(run_settings(args, config));
    let reduced = args.reduced;
    let builder = match args.no_code {
        true => builder.no_sandbox(),
        // No sandboxes are prepared for further commands.
        false => builder.sandbox(move |settings| {
            settings.warm = 0;
            settings.allow_reduced |= reduced;
        }),
    };
    builder.open().await.context("cannot start")
}

fn run_settings(args: &Args, config: &Config) -> RunSettings {
    let mut settings = config.run_settings();
    settings.limits.turns = args.max_turns.unwrap_or(settings.limits.turns);
    if let Some(seconds) = args.timeout {
        settings.limits.wall_time = Duration::from_secs(seconds);
    }
    if !args.allowed.is_empty() {
        settings.policy.network = Network::Allow(args.allowed.clone());
    }
    settings
}

fn build_request(args: &Args, config: &Config) -> anyhow::Result<PromptRequest> {
    let mut request = PromptRequest::new(&args.model, read_prompt(&args.prompt)?);
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
    let aliases = &config.runs.aliases;
    for named in &args.skills {
        request = match SkillRef::from(named.as_str()) {
            SkillRef::Source(place) if !aliases.contains_key(named) || place.exists() => {
                let place = prowess_source::home::expand(&place);
                let place = place.map_err(|error| usage_error(error.to_string()))?;
                let opened = args.fetch.open_one(&place)?;
                let skills = load_opened(&place, opened)?.into_iter();
                skills.fold(request, PromptRequest::skill)
            }
            skill => request.skill(skill),
        };
    }
    Ok(request)
}

fn read_prompt(argument: &str) -> anyhow::Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    let mut input = std::io::stdin().take(MAX_STDIN_BYTES + 1);
    input
        .read_to_string(&mut text)
        .context("standard input cannot be read")?;
    if text.len() as u64 > MAX_STDIN_BYTES {
        anyhow::bail!(
            "standard input is longer than {}",
            output::format_size(MAX_STDIN_BYTES)
        );
    }
    Ok(text)
}

/// Reports events until the run ends, times out or is interrupted, and saves generated files.
async fn follow(
    args: &Args,
    prowess: &Prowess,
    mut run: Run,
    mut signals: Signals,
    reporter: &mut dyn RunReporter,
) -> anyhow::Result<Exit> {
    let time = args.timeout.map_or(Duration::MAX, Duration::from_secs);
    let follow_events = async {
        while let Some(event) = run.next().await {
            match event {
                Ok(event) => reporter.on_event(&event)?,
                Err(error) => return report_failure(reporter, &error),
            }
        }
        Ok(Exit::Ok)
    };
    let ended = tokio::select! {
        ended = tokio::time::timeout(time, follow_events) => Some(ended),
        () = signals.next() => None,
    };
    signals.end_process(Exit::Problems as u8);
    let exit = match ended {
        Some(Ok(exit)) => exit?,
        Some(Err(_)) => {
            reporter.on_failed("time-up", "the run timed out")?;
            Exit::Problems
        }
        None => report_interrupt(reporter)?,
    };
    let mut folder = OutputFolder::new(&args.out);
    if args.force {
        folder = folder.overwriting();
    }
    for file in run.files() {
        reporter.on_saved(&prowess.save(file, &mut folder).await?)?;
    }
    if exit != Exit::Ok {
        return Ok(exit);
    }
    let answer = run.finish().await?;
    reporter.on_ended(&answer)?;
    Ok(match answer.response.stop_reason {
        Some(StopReason::EndTurn | StopReason::StopSequence) => Exit::Ok,
        _ => Exit::Problems,
    })
}

/// What the run has made is still saved, and its end recorded.
fn report_interrupt(reporter: &mut dyn RunReporter) -> anyhow::Result<Exit> {
    reporter.on_failed("interrupted", "the run was interrupted")?;
    Ok(Exit::Problems)
}

fn report_failure(reporter: &mut dyn RunReporter, error: &Error) -> anyhow::Result<Exit> {
    reporter.on_failed(error.code(), &error.to_string())?;
    Ok(match error {
        Error::Model(_) | Error::Run(_) => Exit::Problems,
        _ => Exit::Unreadable,
    })
}
