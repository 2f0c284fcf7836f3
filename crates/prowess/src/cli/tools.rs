//! `prowess tools SOURCE…`

use std::path::PathBuf;

use comfy_table::{ContentArrangement, Table, presets};
use prowess_toolbox::{Options, Refreshed, ToolSpec};
use serde_json::Value;

use super::fetch::Fetch;
use super::output::{self, count};
use super::sandbox::block_on;
use super::toolbox::{self, Loading, Running};
use super::{Exit, paths, skill};

/// Show the tools that skills give a model.
///
/// At first these are the ones to load skills by; --loaded shows what there is once all
/// skills are loaded.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folders of skills, archives or URLs
    #[arg(value_name = "SOURCE", required = true, value_parser = paths::path())]
    sources: Vec<PathBuf>,
    /// One tool to load all skills by, or one for each
    #[arg(long, value_name = "FORM", default_value = "compact", value_enum)]
    form: Loading,
    /// Load all skills first, and show their own tools too
    #[arg(long)]
    loaded: bool,
    /// Add the tools to run commands and edit files by
    #[arg(long)]
    code: bool,
    /// Add LiteLLM's tools
    #[arg(long)]
    litellm: bool,
    #[command(flatten)]
    place: Running,
    #[command(flatten)]
    fetch: Fetch,
    /// Print JSON: name, description and input schema, as models are given them
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let refreshed = toolbox::read(&args.sources, &args.fetch)?;
    let tools = block_on(tools(args, &refreshed))??;
    if args.json {
        output::json(&tools)?;
    } else {
        if !tools.is_empty() {
            output::out(&format!("{}\n", table(&tools).trim_fmt()))?;
        }
        let skills = count(refreshed.members.len(), "skill");
        output::remark(&format!("{} of {skills}", count(tools.len(), "tool")));
    }
    Ok(toolbox::exit(&refreshed))
}

async fn tools(args: &Args, refreshed: &Refreshed) -> anyhow::Result<Vec<ToolSpec>> {
    let options = Options {
        form: args.form.into(),
        code: args.code,
        litellm: args.litellm,
        ..Options::default()
    };
    let runs = args.code || args.litellm || args.loaded && toolbox::have_tools(refreshed);
    let workspace = match runs {
        true => Some(args.place.workspace(&refreshed.members).await?),
        false => None,
    };
    let made = toolbox::of(refreshed, workspace.clone(), options)?;
    if args.loaded {
        let names = refreshed.members.iter().map(|m| m.skill.name.clone());
        for problem in made.resume(&names.collect::<Vec<_>>()).await {
            output::error(&problem);
        }
    }
    if let Some(workspace) = workspace {
        workspace.close().await?;
    }
    Ok(made.tools())
}

fn table(tools: &[ToolSpec]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(["TOOL", "ARGUMENTS", "DESCRIPTION"]);
    for tool in tools {
        table.add_row([
            tool.name.clone(),
            arguments(&tool.input_schema),
            skill::first_line(&tool.description),
        ]);
    }
    table
}

/// The names of the arguments, with a `?` after those that may be left out.
fn arguments(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let names = schema.get("properties").and_then(Value::as_object);
    let names = names.into_iter().flat_map(|properties| properties.keys());
    let marked = names.map(|name| match is_required(name) {
        true => name.clone(),
        false => format!("{name}?"),
    });
    marked.collect::<Vec<_>>().join(", ")
}
