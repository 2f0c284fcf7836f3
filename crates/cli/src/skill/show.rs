//! `prowess skill show SOURCE`

use std::path::PathBuf;

use prowess_skill::disclose::{self, FileContent};
use prowess_skill::fields::allowed_tools::AllowedTools;
use prowess_skill::{BundleLimits, Profile, Severity, Skill};

use super::inputs;
use crate::fetch::FetchArgs;
use crate::output::{self, DIM, STRONG, format_count, format_size, strip_controls};
use crate::{Exit, paths, snippet};

/// Show the content of a skill.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A skill's folder, an archive, a Markdown file or a URL
    #[arg(value_name = "SOURCE", value_parser = paths::path_parser())]
    path: PathBuf,
    /// Print this file of the skill instead
    #[arg(long, value_name = "NAME", conflicts_with_all = ["body", "json"])]
    file: Option<String>,
    /// Print the instructions instead
    #[arg(long, conflicts_with = "json")]
    body: bool,
    /// Print everything known about the skill as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let origin = inputs::open_one(&args.path, &args.fetch)?;
    let loaded = origin.load(&BundleLimits::default(), Profile::Lenient)?;
    let Some(skill) = &loaded.skill else {
        for diagnostic in loaded
            .diagnostics
            .iter()
            .filter(|d| d.severity == Severity::Error)
        {
            output::print_remark(&snippet::render(
                diagnostic,
                origin.path(),
                loaded.source.as_ref(),
            ));
        }
        return Ok(Exit::Problems);
    };
    if let Some(path) = &args.file {
        return show_file(skill, path);
    }
    if args.body {
        output::print_foreign(&format!("{}\n", skill.body))?;
    } else if args.json {
        let mut value = serde_json::to_value(skill)?;
        if let Some(object) = value.as_object_mut() {
            object.insert("path".into(), origin.path().display().to_string().into());
            object.insert(
                "diagnostics".into(),
                serde_json::to_value(&loaded.diagnostics)?,
            );
        }
        output::print_json(&value)?;
    } else {
        output::print_text(&render_page(skill))?;
    }
    Ok(Exit::Ok)
}

fn show_file(skill: &Skill, path: &str) -> anyhow::Result<Exit> {
    match disclose::file(skill, path, usize::MAX) {
        Some(FileContent::Text(fragment)) => output::print_foreign(&fragment.text)?,
        Some(FileContent::Binary(bytes)) => {
            use std::io::Write;
            std::io::stdout().lock().write_all(&bytes)?;
        }
        None => anyhow::bail!("`{path}` is not in the skill; `prowess skill show` lists its files"),
    }
    Ok(Exit::Ok)
}

fn render_page(skill: &Skill) -> String {
    let mut page = format!(
        "{STRONG}{}{STRONG:#}\n{}\n\n",
        strip_controls(&skill.name, true),
        strip_controls(&skill.description, false)
    );
    let mut row = |label: &str, value: &str| {
        let value = strip_controls(value, false);
        page.push_str(&format!("{DIM}{label:<14}{DIM:#} {value}\n"));
    };
    let optional = [
        ("version", &skill.version),
        ("license", &skill.license),
        ("compatibility", &skill.compatibility),
        ("when to use", &skill.invocation.when_to_use),
    ];
    for (label, value) in optional {
        if let Some(value) = value {
            row(label, value);
        }
    }
    match &skill.allowed_tools {
        AllowedTools::Unstated => {}
        AllowedTools::Only(patterns) => row("allowed tools", &patterns.join(" ")),
        AllowedTools::Distrusted => row("allowed tools", "(ignored: the frontmatter was repaired)"),
    }
    if !skill.requires.is_empty() {
        row("requires", &skill.requires.join(", "));
    }
    row("digest", &skill.manifest.digest().to_string());
    row(
        "instructions",
        &format_count(skill.body.lines().count(), "line"),
    );
    if !skill.tools.is_empty() || skill.python_tools {
        page.push_str(&format!("\n{STRONG}Tools{STRONG:#}\n"));
        for tool in &skill.tools {
            let args: Vec<_> = tool.args.iter().map(|arg| arg.name.as_str()).collect();
            page.push_str(&format!(
                "  {}({})  {DIM}{}{DIM:#}\n    {}\n",
                tool.name,
                strip_controls(&args.join(", "), true),
                tool.script,
                strip_controls(&tool.description, false)
            ));
        }
        if skill.python_tools {
            page.push_str("  functions of tools.py, listed when the skill is loaded\n");
        }
    }
    page.push_str(&format!("\n{STRONG}Files{STRONG:#}\n"));
    for file in skill.manifest.files() {
        let mark = if file.executable { "*" } else { "" };
        page.push_str(&format!(
            "  {:>8}  {}{mark}\n",
            format_size(file.size),
            file.path
        ));
    }
    page
}
