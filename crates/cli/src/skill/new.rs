//! `prowess skill new NAME`

use std::path::{Path, PathBuf};

use anyhow::Context;
use prowess_skill::upload::is_portable_name;

use crate::output;
use crate::{Exit, display_path, paths, usage_error};

/// Create a new skill.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The skill's name: a-z, 0-9 and single hyphens between them
    name: String,
    /// The folder to create it in
    #[arg(long, value_name = "FOLDER", default_value = ".", value_parser = paths::path_parser())]
    r#in: PathBuf,
    /// What the skill does and when to use it
    #[arg(short, long)]
    description: Option<String>,
    /// Add a script and declare it as a tool
    #[arg(long)]
    tool: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    if !is_portable_name(&args.name) {
        return Err(usage_error(format!(
            "`{}` cannot be a skill's name: use a-z, 0-9 and single hyphens inside, at most 64",
            args.name
        )));
    }
    let folder = args.r#in.join(&args.name);
    create_folder(&folder)?;
    write_file(&folder.join("SKILL.md"), &skill_md(args))?;
    if args.tool {
        std::fs::create_dir(folder.join("scripts")).context("cannot create scripts/")?;
        write_file(&folder.join("scripts/greet.py"), SCRIPT)?;
    }
    output::print_text(&format!("{}\n", display_path(&folder)))?;
    output::print_remark(&format!(
        "Next: prowess skill validate {}",
        display_path(&folder)
    ));
    Ok(Exit::Ok)
}

fn create_folder(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        anyhow::bail!("{} already exists", display_path(folder));
    }
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{} cannot be created", display_path(folder)))
}

fn write_file(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("{} cannot be written", display_path(file)))
}

fn skill_md(args: &Args) -> String {
    let description = args.description.as_deref().unwrap_or(
        "Says in a sentence or two what this skill does. Use when the request names the task it is for.",
    );
    // Every JSON string is also a YAML string.
    let description = serde_json::Value::from(description).to_string();
    let tools = if args.tool { TOOLS } else { "" };
    format!(
        "---\nname: {}\ndescription: {description}\n{tools}---\n\n# {}\n\n## Steps\n\n1. Say what to do first.\n2. Say how to check the result.\n",
        args.name, args.name
    )
}

const TOOLS: &str = "\
tools:
  greet:
    description: Greet someone by name.
    script: scripts/greet.py
    args:
      name: string
";

const SCRIPT: &str = "\
\"\"\"Greets someone by name.\"\"\"

import sys

print(f\"Hello, {sys.argv[1]}!\")
";
