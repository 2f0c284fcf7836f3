//! `prowess call SOURCE TOOL --args JSON`

use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use prowess_toolbox::{
    ContentPart, LoadToolStyle, NativeCall, SkillSnapshot, ToolOutcome, Toolbox, ToolboxOptions,
    Workspace,
};
use serde_json::{Value, json};

use super::fetch::FetchArgs;
use super::output;
use super::sandbox::block_on;
use super::serve::Signals;
use super::toolbox::{self, SandboxRunArgs};
use super::{Exit, paths, usage_error};

/// Maximum size of arguments read from standard input.
const MAX_STDIN_BYTES: u64 = 16 << 20;

/// Call a tool as a model would.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A folder of skills, an archive or a URL
    #[arg(value_name = "SOURCE", value_parser = paths::path_parser())]
    source: PathBuf,
    /// The tool's name, as `prowess tools --loaded` shows it
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Its arguments, a JSON object; `-` reads them from standard input
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: String,
    /// Save generated files in this folder
    #[arg(long, value_name = "DIR", value_parser = paths::path_parser())]
    out: Option<PathBuf>,
    /// Timeout in seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    #[command(flatten)]
    place: SandboxRunArgs,
    /// Print the whole result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let input = read_arguments(&args.args)?;
    let refreshed = toolbox::read_skills(std::slice::from_ref(&args.source), &args.fetch)?;
    if refreshed.members.is_empty() {
        return Ok(toolbox::exit_code(&refreshed).max(Exit::Problems));
    }
    block_on(call(args, &refreshed, &input))?
}

async fn call(args: &Args, refreshed: &SkillSnapshot, input: &Value) -> anyhow::Result<Exit> {
    let workspace = if !is_read_only(&args.tool) || toolbox::has_own_tools(refreshed) {
        open_workspace(args, refreshed).await?
    } else {
        None
    };
    let toolbox = toolbox::build_toolbox(refreshed, workspace.clone(), toolbox_options(args))?;
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let called = tokio::select! {
        called = call_tool(args, refreshed, &toolbox, input) => called,
        () = signals.next() => {
            output::print_error("the call was interrupted");
            Ok(Exit::Problems)
        }
    };
    signals.end_process(Exit::Problems as u8);
    // Also after an error: the container has no other use.
    let closed = match &workspace {
        Some(workspace) => workspace.close().await,
        None => Ok(()),
    };
    let exit = called?;
    closed?;
    Ok(exit)
}

/// Loads the tool's skill, calls the tool, and prints and saves its result.
async fn call_tool(
    args: &Args,
    refreshed: &SkillSnapshot,
    toolbox: &Toolbox,
    input: &Value,
) -> anyhow::Result<Exit> {
    if let Some(skill) = toolbox.skill_for_tool(&args.tool) {
        for problem in toolbox.restore_loaded(&[skill]).await {
            output::print_error(&problem);
        }
    }
    let outcome = toolbox.call(&args.tool, input, None).await;
    finish(args, toolbox, &outcome).await?;
    if outcome.is_error && is_short_name(&args.tool, refreshed) {
        output::print_remark(
            "tools of skills are called by their full names: see `prowess tools --loaded`",
        );
    }
    Ok(if outcome.is_error {
        Exit::Problems
    } else {
        Exit::Ok
    })
}

/// Whether a tool only reads, so that it works without a sandbox.
fn is_read_only(tool: &str) -> bool {
    let names = ["list_skills", "search_skills", "read_skill_resource"];
    tool.starts_with("load_skill") || names.contains(&tool)
}

/// Whether a name is that of a tool inside its skill, by which no model can call it.
fn is_short_name(tool: &str, refreshed: &SkillSnapshot) -> bool {
    let mut members = refreshed.members.iter();
    members.any(|member| member.skill.tools.iter().any(|own| own.name == tool))
}

/// Opens the sandbox; tools that only read also run without one.
async fn open_workspace(
    args: &Args,
    refreshed: &SkillSnapshot,
) -> anyhow::Result<Option<Workspace>> {
    match args.place.workspace(&refreshed.members).await {
        Err(error) if is_read_only(&args.tool) => {
            output::print_remark(&format!("no sandbox: {error:#}"));
            Ok(None)
        }
        opened => opened.map(Some),
    }
}

fn toolbox_options(args: &Args) -> ToolboxOptions {
    ToolboxOptions {
        load_style: if args.tool.starts_with("load_skill_") {
            LoadToolStyle::PerSkill
        } else {
            LoadToolStyle::Compact
        },
        code_execution: true,
        litellm: args.tool.starts_with("litellm_"),
        timeout: args.timeout.map(Duration::from_secs),
        ..ToolboxOptions::default()
    }
}

/// Prints the result and saves generated files.
async fn finish(args: &Args, toolbox: &Toolbox, outcome: &ToolOutcome) -> anyhow::Result<()> {
    if let (Some(folder), Some(workspace)) = (&args.out, toolbox.workspace()) {
        for made in &outcome.outputs {
            let saved = toolbox::save_file(workspace, &made.path, folder).await?;
            if let Some(place) = saved.filter(|_| !args.json) {
                let place = output::strip_controls(&place.display().to_string(), true);
                let size = output::format_size(made.size);
                output::print_remark(&format!("created {place} ({}, {size})", made.mime_type));
            }
        }
    }
    if args.json {
        return output::print_json(&outcome_json(outcome));
    }
    for part in &outcome.content {
        match part {
            ContentPart::Text(text) => {
                output::print_foreign(&format!("{}\n", text.trim_end_matches('\n')))?
            }
            ContentPart::Binary { mime, data } => write_binary(mime, data)?,
        }
    }
    Ok(())
}

/// Writes binary content to standard output, but never to a terminal.
fn write_binary(mime: &str, data: &[u8]) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        output::print_remark(&format!(
            "{mime}, {}; redirect it to a file",
            output::format_size(data.len() as u64)
        ));
        return Ok(());
    }
    stdout.write_all(data)?;
    Ok(stdout.flush()?)
}

/// What `--json` prints.
fn outcome_json(outcome: &ToolOutcome) -> Value {
    let native = match &outcome.native {
        NativeCall::Bash { result, .. } => result.content(&[]),
        NativeCall::Editor { result, .. } => result.clone(),
    };
    json!({
        "is_error": outcome.is_error,
        "text": outcome.text_content(),
        "outputs": outcome.outputs,
        "skipped": outcome.skipped,
        "skill": outcome.skill,
        "loaded": outcome.loaded_skills,
        "native": {
            "name": outcome.native.tool(),
            "input": outcome.native.input(),
            "content": native,
        },
    })
}

fn read_arguments(text: &str) -> anyhow::Result<Value> {
    let mut read = String::new();
    if text == "-" {
        let mut stdin = std::io::stdin().take(MAX_STDIN_BYTES);
        stdin
            .read_to_string(&mut read)
            .context("cannot read standard input")?;
    } else {
        read.push_str(text);
    }
    let value: Value = serde_json::from_str(&read)
        .map_err(|error| usage_error(format!("--args is not JSON: {error}")))?;
    match value.is_object() {
        true => Ok(value),
        false => Err(usage_error(
            "--args must be a JSON object, such as '{\"name\": \"pdf\"}'",
        )),
    }
}
