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

/// Run an MCP server for skills on standard input and output.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folders of skills, archives or URLs
    #[arg(value_name = "SOURCE", required = true, value_parser = paths::path_parser())]
    sources: Vec<PathBuf>,
    /// One tool that loads any skill, or one tool per skill
    #[arg(long, value_name = "FORM", default_value = "compact", value_enum)]
    form: ToolForm,
    /// When the tools of a skill are listed: once the skill is loaded, or from the start, for
    /// hosts that list tools only once
    #[arg(long, value_name = "WHEN", default_value = "on-load", value_enum)]
    own_tools: ToolListing,
    /// Omit the tools that run commands and edit files; tools of skills still run
    #[arg(long)]
    no_code: bool,
    /// Run no code: skills can only be read
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    running: SandboxRunArgs,
    /// What to log on standard error
    #[arg(long, value_enum, default_value_t = LogDetail::Warn, env = "PROWESS_LOG")]
    log: LogDetail,
    #[command(flatten)]
    fetch: FetchArgs,
}

/// When the tools of a skill are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ToolListing {
    /// Once the skill is loaded
    OnLoad,
    /// From the start; calling one loads its skill
    AtOnce,
}

const EXAMPLES: &str = "\
Claude Code:
  claude mcp add skills -- prowess mcp ~/skills

Any host with a JSON configuration:
  {\"mcpServers\": {\"skills\": {\"command\": \"prowess\", \"args\": [\"mcp\", \"~/skills\"]}}}

A Prowess server offers the same at /mcp, for its stored skills:
  claude mcp add --transport http skills http://127.0.0.1:4141/mcp

Hosts that list tools once (LangChain, Google ADK):
  prowess mcp --own-tools at-once ~/skills
  http://127.0.0.1:4141/mcp?own_tools=at-once";

pub(super) fn run(args: Args) -> anyhow::Result<Exit> {
    logging::start(args.log)?;
    let opened = args.fetch.open(&args.sources)?;
    let (folders, refreshed) = SkillFolders::new(&args.sources, opened);
    toolbox::print_problems(&refreshed);
    if refreshed.members.is_empty() {
        output::print_remark("no skills yet; watching the folders for new skills");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let served = runtime.block_on(serve(LocalSkills { folders, args }));
    // A thread that blocks on standard input cannot be stopped; do not wait for it.
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

/// The skills and options of this command.
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
                .inspect_err(|error| output::print_remark(&format!("no sandbox: {error:#}")))
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
