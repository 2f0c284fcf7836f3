//! `prowess mcp SOURCE…`

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use prowess_mcp::{SkillFolders, SkillProvider, SkillProviderError, SkillSet, stdio};
use prowess_toolbox::{ToolboxOptions, Workspace};
use tokio_util::sync::CancellationToken;

use super::fetch::FetchArgs;
use super::logging::{self, LogDetail};
use super::serve::Signals;
use super::toolbox::{self, SandboxRunArgs, ToolForm};
use super::{Exit, output, paths};

/// Serve skills to an agent over MCP, on standard input and output.
///
/// The agent gets the tools that `prowess tools` shows, and those of a skill once it has
/// loaded it; the files of skills and of its session as resources; a prompt for each skill;
/// and the skills extension of MCP. Folders that change are seen at once. Code runs in the
/// sandbox, in a session that ends with the agent's.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folders of skills, archives or URLs
    #[arg(value_name = "SOURCE", required = true, value_parser = paths::path_parser())]
    sources: Vec<PathBuf>,
    /// One tool to load all skills by, or one for each
    #[arg(long, value_name = "FORM", default_value = "compact", value_enum)]
    form: ToolForm,
    /// When the tools of a skill are listed: once the skill is loaded, or all at once, for
    /// hosts that list the tools of a server only at the start
    #[arg(long, value_name = "WHEN", default_value = "on-load", value_enum)]
    own_tools: ToolListing,
    /// Leave out the tools to run commands and edit files by; those of skills still run
    #[arg(long)]
    no_code: bool,
    /// Run nothing at all: skills can be read, and that is all
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    running: SandboxRunArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    /// How much to log, on standard error
    #[arg(long, value_enum, default_value_t = LogDetail::Warn, env = "PROWESS_LOG")]
    log: LogDetail,
}

/// When the tools of skills are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ToolListing {
    /// Once their skill is loaded
    OnLoad,
    /// From the start; calling one loads its skill
    AtOnce,
}

const EXAMPLES: &str = "\
Claude Code:
  claude mcp add skills -- prowess mcp ~/skills

Any host with a JSON configuration:
  {\"mcpServers\": {\"skills\": {\"command\": \"prowess\", \"args\": [\"mcp\", \"~/skills\"]}}}

A server has the same at /mcp, for the skills stored there:
  claude mcp add --transport http skills http://127.0.0.1:4141/mcp

Hosts that list tools once (LangChain, Google ADK):
  prowess mcp --own-tools at-once ~/skills
  http://127.0.0.1:4141/mcp?own_tools=at-once";

pub(super) fn run(args: Args) -> anyhow::Result<Exit> {
    logging::start(args.log);
    let opened = args.fetch.open(&args.sources)?;
    let (folders, refreshed) = SkillFolders::new(&args.sources, opened);
    toolbox::print_problems(&refreshed);
    if refreshed.members.is_empty() {
        output::print_remark("there are no skills yet; watching the folders for new ones");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve(LocalSkills { folders, args }));
    // A thread that waits for standard input cannot be ended, and need not be waited for.
    runtime.shutdown_background();
    served.map(|()| Exit::Ok)
}

async fn serve(local: LocalSkills) -> anyhow::Result<()> {
    let stop = CancellationToken::new();
    let mut signals = Signals::listen()?;
    let stopped = stop.clone();
    tokio::spawn(async move {
        signals.next().await;
        stopped.cancel();
    });
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    Ok(stdio::serve(Arc::new(local), input, output, stop).await?)
}

/// What this command was given.
struct LocalSkills {
    folders: SkillFolders,
    args: Args,
}

impl SkillProvider for LocalSkills {
    fn skills(&self) -> BoxFuture<'_, Result<SkillSet, SkillProviderError>> {
        self.folders.refresh().boxed()
    }

    fn workspace<'a>(&'a self, skills: &'a SkillSet) -> BoxFuture<'a, Option<Workspace>> {
        async {
            if self.args.read_only {
                return None;
            }
            let opened = self.args.running.workspace(&skills.members).await;
            opened
                .inspect_err(|error| output::print_remark(&format!("without a sandbox: {error:#}")))
                .ok()
        }
        .boxed()
    }

    fn options(&self) -> ToolboxOptions {
        ToolboxOptions {
            load_style: self.args.form.into(),
            code_execution: !self.args.no_code,
            ..prowess_mcp::default_options()
        }
    }

    fn lists_skill_tools_at_once(&self) -> bool {
        self.args.own_tools == ToolListing::AtOnce
    }
}
