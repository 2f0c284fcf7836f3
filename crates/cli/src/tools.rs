//! `prowess tools SOURCE…`

use std::path::PathBuf;

use comfy_table::{ContentArrangement, Table, presets};
use prowess_toolbox::{SkillSnapshot, ToolSpec, ToolboxOptions};
use serde_json::Value;

use super::fetch::FetchArgs;
use super::output::{self, format_count};
use super::sandbox::block_on;
use super::toolbox::{self, SandboxRunArgs, ToolForm};
use super::{Exit, paths};

/// List the tools that skills provide to a model.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folders of skills, archives or URLs
    #[arg(value_name = "SOURCE", required = true, value_parser = paths::path_parser())]
    sources: Vec<PathBuf>,
    /// One tool that loads any skill, or one tool per skill
    #[arg(long, value_name = "FORM", default_value = "compact", value_enum)]
    form: ToolForm,
    /// Load all skills first, and list their tools too
    #[arg(long)]
    loaded: bool,
    /// Add the tools that run commands and edit files
    #[arg(long)]
    code: bool,
    /// Add LiteLLM's tools
    #[arg(long)]
    litellm: bool,
    #[command(flatten)]
    place: SandboxRunArgs,
    /// Print JSON: name, description and input schema, as sent to models
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let refreshed = toolbox::read_skills(&args.sources, &args.fetch)?;
    let tools = block_on(list_tools(args, &refreshed))??;
    if args.json {
        output::print_json(&tools)?;
    } else {
        if !tools.is_empty() {
            output::print_text(&format!("{}\n", tools_table(&tools).trim_fmt()))?;
        }
        let skills = format_count(refreshed.members.len(), "skill");
        output::print_remark(&format!(
            "{} from {skills}",
            format_count(tools.len(), "tool")
        ));
    }
    Ok(toolbox::exit_code(&refreshed))
}

async fn list_tools(args: &Args, refreshed: &SkillSnapshot) -> anyhow::Result<Vec<ToolSpec>> {
    let options = ToolboxOptions {
        load_style: args.form.into(),
        code_execution: args.code,
        litellm: args.litellm,
        ..ToolboxOptions::default()
    };
    let runs = args.code || args.litellm || args.loaded && toolbox::has_own_tools(refreshed);
    let workspace = if runs {
        Some(args.place.workspace(&refreshed.members).await?)
    } else {
        None
    };
    let made = toolbox::build_toolbox(refreshed, workspace.clone(), options)?;
    if args.loaded {
        let names = refreshed.members.iter().map(|m| m.skill.name.clone());
        for problem in made.restore_loaded(&names.collect::<Vec<_>>()).await {
            output::print_error(&problem);
        }
    }
    if let Some(workspace) = workspace {
        workspace.close().await?;
    }
    Ok(made.tools())
}

fn tools_table(tools: &[ToolSpec]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(["TOOL", "ARGUMENTS", "DESCRIPTION"]);
    for tool in tools {
        table.add_row([
            tool.name.clone(),
            describe_arguments(&tool.input_schema),
            output::first_line(&tool.description),
        ]);
    }
    table
}

/// The names of the arguments, with a `?` after optional ones.
fn describe_arguments(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let names = schema.get("properties").and_then(Value::as_object);
    let names = names.into_iter().flat_map(|properties| properties.keys());
    let marked = names.map(|name| {
        if is_required(name) {
            name.clone()
        } else {
            format!("{name}?")
        }
    });
    marked.collect::<Vec<_>>().join(", ")
}
