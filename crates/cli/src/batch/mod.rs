//! `prowess batch FILE -m MODEL --skill S`: many prompts, each answered by a run.
//!
//! The batch is one of a server, which goes on without this command; without an address, it is
//! one of this process, over the local store. Running the same command again continues it.
//!
//! | module | owns |
//! |---|---|
//! | `input`, `line` | the file, checked before anything is sent; one line of it |
//! | `requests` | the requests that its lines become |
//! | `skills` | skills, stored on the server once |
//! | `batch_server` | the server: another one, or one of this process |
//! | `resume` | what a later command needs to continue |
//! | `submit` | submitting the batch once |
//! | `follow` | waiting for its end |
//! | `results`, `result_source` | writing its results; reading them in their order |
//! | `prompt_result`, `file_result` | one result, of each vendor's API |
//! | `saved_files` | files that were created |
//! | `report` | what is printed |

mod batch_server;
mod file_result;
mod follow;
mod input;
mod line;
mod prompt_result;
mod report;
mod requests;
mod result_source;
mod results;
mod resume;
mod saved_files;
mod skills;
mod submit;

use std::path::PathBuf;

use anyhow::Context;
use prowess_client::RemoteBatch;

use super::client::RemoteArgs;
use super::config_args::ConfigArgs;
use super::fetch::FetchArgs;
use super::serve::Signals;
use super::{Exit, display_path, output, paths, usage_error};
use batch_server::BatchServer;
use follow::follow;
use input::BatchInput;
use line::LineFormat;
use report::{BatchReport, BatchTotals};
use results::ResultWriter;
use resume::{BatchJob, ResumeFile, ResumeState};
use skills::NamedSkill;
use submit::BatchSubmission;

const AFTER_HELP: &str = "\
FILE has a prompt per line, or JSON lines: {\"prompt\": …, \"id\": …}, or requests as in the batch
APIs of Anthropic (custom_id, params) or OpenAI (custom_id, method, url, body). Results are JSON
lines in the same order: requests of a vendor's API have its results, prompts have theirs.

With --server, the batch runs there, and goes on when this command ends. Without it, it runs in
this process, over the local store. The same command continues a batch that was interrupted; it
never submits one twice.

Exit codes:
  0  every request succeeded
  1  some failed, or the command was interrupted
  2  wrong usage
  3  something could not be read or written, or the server refused the batch";

/// Send many prompts to a model, with skills.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The prompts; `-` reads them from standard input
    #[arg(value_name = "FILE", value_parser = paths::path_parser())]
    file: PathBuf,
    /// The model: a name from the configuration, or provider/model. Requests of a vendor's API
    /// that have a model keep theirs
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// A skill to use: an id (skill_…, skill_…@VERSION), the name of a stored skill, or a
    /// folder, an archive or a URL, which is uploaded. Can be repeated
    #[arg(long = "skill", value_name = "PATH_OR_ID")]
    skills: Vec<String>,
    /// System prompt
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Maximum output tokens per turn of a prompt; default 8192
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,
    /// Run no code: skills can only be read
    #[arg(long)]
    no_code: bool,
    /// Where to write the results; default: standard output
    #[arg(short, long, value_name = "OUT", value_parser = paths::path_parser())]
    output: Option<PathBuf>,
    /// Where to save generated files, in a folder per line; by default they stay on the server
    #[arg(long, value_name = "DIR", value_parser = paths::path_parser())]
    files: Option<PathBuf>,
    /// Requests that run at once, without --server; default: `tenant_concurrency` of the
    /// configuration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    concurrency: Option<u32>,
    /// Only continue a batch that was submitted before
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Submit a new batch, also if an earlier one was not finished, and replace OUT
    #[arg(long)]
    force: bool,
    /// Print only JSON, one line per event
    #[arg(long)]
    json: bool,
    /// The server's URL; without it, the batch runs in this process
    #[arg(long, value_name = "URL", env = "PROWESS_URL")]
    server: Option<String>,
    /// With --server: the API key
    #[arg(
        long,
        value_name = "KEY",
        env = "PROWESS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
    #[command(flatten)]
    place: ConfigArgs,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let server = args.server.clone().filter(|url| !url.is_empty());
    if server.is_some() && args.concurrency.is_some() {
        let message = "--concurrency is for batches of this process; a server has \
                       `tenant_concurrency` in [batches] of its configuration";
        return Err(usage_error(message));
    }
    let input = BatchInput::open(&args.file)?;
    check_options(args, &input.format)?;
    let resume = ResumeFile::beside(args.output.as_deref(), &args.file);
    let earlier = find_earlier(args, resume.as_ref())?;
    let skills = skills::open_all(&args.skills, &args.fetch)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        // Before the batch is submitted: from then on an interrupt is reported.
        let signals = Signals::listen().context("cannot listen for signals")?;
        let server = match server {
            Some(url) => {
                let remote = RemoteArgs::new(Some(url), args.api_key.clone());
                BatchServer::remote(remote.connect()?)
            }
            None => BatchServer::local(args.place.load(None)?, args.concurrency).await?,
        };
        let command = BatchCommand {
            args,
            input: &input,
            skills: &skills,
            resume: resume.as_ref(),
            server: &server,
        };
        let exit = command.run(earlier, signals).await;
        server.close().await;
        exit
    })
}

/// Refuses options that have no effect on lines of this format.
fn check_options(args: &Args, format: &LineFormat) -> anyhow::Result<()> {
    if format.has_prompts() {
        return match args.model {
            Some(_) => Ok(()),
            None => Err(usage_error("--model is missing: prompts need a model")),
        };
    }
    let is_file = matches!(format, LineFormat::File { .. });
    let options = [
        (!args.skills.is_empty(), "--skill"),
        (args.system.is_some(), "--system"),
        (args.max_tokens.is_some(), "--max-tokens"),
        (args.no_code, "--no-code"),
        (args.files.is_some() && is_file, "--files"),
    ];
    match options.iter().find(|(is_set, _)| *is_set) {
        None => Ok(()),
        Some((_, option)) => Err(usage_error(format!(
            "{option} is for prompts; {} has requests of a vendor's API, which are sent as they \
             are",
            display_path(&args.file)
        ))),
    }
}

/// The state of an earlier command that this one continues.
fn find_earlier(args: &Args, resume: Option<&ResumeFile>) -> anyhow::Result<Option<ResumeState>> {
    let found = match resume {
        Some(file) if args.force => {
            file.remove()?;
            None
        }
        Some(file) => file.load()?,
        None => None,
    };
    if args.resume && found.is_none() {
        return Err(usage_error(
            "there is no batch to continue: leave out --resume",
        ));
    }
    if let (None, false, Some(output)) = (&found, args.force, &args.output)
        && output.exists()
    {
        let output = display_path(output);
        return Err(usage_error(format!(
            "{output} exists; choose another file, or pass --force to replace it"
        )));
    }
    Ok(found)
}

/// A batch of this command.
struct BatchCommand<'a> {
    args: &'a Args,
    input: &'a BatchInput,
    skills: &'a [NamedSkill],
    resume: Option<&'a ResumeFile>,
    server: &'a BatchServer,
}

impl BatchCommand<'_> {
    async fn run(
        &self,
        earlier: Option<ResumeState>,
        mut signals: Signals,
    ) -> anyhow::Result<Exit> {
        let job = self.job();
        if let (Some(state), Some(file)) = (&earlier, self.resume) {
            let changes = state.changes(&job, &self.input.name);
            if !changes.is_empty() {
                anyhow::bail!(
                    "{} has an unfinished batch, and what it was submitted with has changed: {}; \
                     restore it to continue, or pass --force to submit a new batch",
                    file.name(),
                    changes.join("; ")
                );
            }
        }
        let mut report = BatchReport::new(self.args.json, self.input.requests);
        tokio::select! {
            exit = self.run_batch(job, earlier, &mut report) => return exit,
            () = signals.next() => {}
        }
        let where_it_runs = match self.server.is_local() {
            true => "the batch is interrupted",
            false => "the batch goes on, if it was submitted",
        };
        let hint = match self.resume {
            Some(_) => "; continue with the same command",
            None => "; see `prowess batches`",
        };
        output::print_remark(&format!("{where_it_runs}{hint}"));
        Ok(Exit::Problems)
    }

    fn job(&self) -> BatchJob {
        let args = self.args;
        BatchJob {
            place: self.server.place.clone(),
            input: self.input.digest.clone(),
            model: args.model.clone(),
            system: args.system.clone(),
            max_tokens: args.max_tokens,
            code: !args.no_code,
            skills: self.skills.iter().map(NamedSkill::fingerprint).collect(),
        }
    }

    async fn run_batch(
        &self,
        job: BatchJob,
        earlier: Option<ResumeState>,
        report: &mut BatchReport,
    ) -> anyhow::Result<Exit> {
        let client = &self.server.client;
        let submission = BatchSubmission {
            client,
            input: self.input,
            skills: self.skills,
            job,
            resume: self.resume,
        };
        let batch = submission.submit(earlier, report).await?;
        let batch = follow(client, batch, report).await?;
        let output = self.args.output.as_deref();
        let (totals, written_to) = match batch.status == "failed" {
            true => (self.report_failure(&batch), None),
            false => {
                let writer = ResultWriter {
                    client,
                    input: self.input,
                    files: self.args.files.as_deref(),
                };
                (writer.write(&batch, output, report).await?, output)
            }
        };
        let written_to = written_to.map(display_path);
        report.on_ended(&batch, &totals, written_to.as_deref())?;
        if let Some(file) = self.resume {
            file.remove()?;
        }
        Ok(match totals.failed {
            0 => Exit::Ok,
            _ => Exit::Problems,
        })
    }

    /// A batch that has no results.
    fn report_failure(&self, batch: &RemoteBatch) -> BatchTotals {
        for error in &batch.errors {
            output::print_error(&format!("{}: {error}", batch.id));
        }
        BatchTotals {
            failed: self.input.requests,
            ..BatchTotals::default()
        }
    }
}
