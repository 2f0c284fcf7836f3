//! `prowess skill list SOURCE…`, and `--server` for the skills of a server

use std::path::Path;

use comfy_table::{ContentArrangement, Table, presets};
use prowess_skill::BundleLimits;
use prowess_source::catalogue::CatalogueEntry;
use prowess_source::home::expand;
use prowess_source::url::is_url;
use prowess_source::{Catalogue, LabelledSource};

use super::list_remote;
use crate::client::RemoteArgs;
use crate::fetch::FetchArgs;
use crate::output::{self, first_line, format_count, format_size, strip_controls};
use crate::{Exit, display_path, usage_error};

/// List the skills of folders and archives, or of a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folders of skills, archives or URLs; LABEL=SOURCE adds a label. When two have a skill
    /// of the same name, the later one takes precedence
    #[arg(value_name = "SOURCE", default_value = ".")]
    paths: Vec<String>,
    /// List the skills of a server instead; the URL defaults to PROWESS_URL
    #[arg(long, value_name = "URL", num_args = 0..=1)]
    server: Option<Option<String>>,
    /// With --server: only skills that match these words, best first
    #[arg(long, value_name = "WORDS", requires = "server")]
    query: Option<String>,
    /// With --server: the API key
    #[arg(
        long,
        value_name = "KEY",
        env = "PROWESS_API_KEY",
        hide_env_values = true
    )]
    api_key: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    fetch: FetchArgs,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(url) = &args.server {
        let url = url.clone().or_else(|| std::env::var("PROWESS_URL").ok());
        let remote = RemoteArgs::new(url, args.api_key.clone());
        return list_remote::run(&remote, args.query.as_deref(), args.json);
    }
    let sources = args.paths.iter().map(|text| parse_source(text));
    let sources = sources.collect::<anyhow::Result<Vec<_>>>()?;
    let paths: Vec<_> = sources.iter().map(|source| source.path.clone()).collect();
    let opened = args.fetch.open(&paths)?;
    let catalogue = Catalogue::from_opened(sources.iter().zip(opened), &BundleLimits::default());
    if args.json {
        output::print_json(&catalogue_json(&catalogue))?;
    } else {
        if !catalogue.entries.is_empty() {
            output::print_text(&format!(
                "{}\n",
                catalogue_table(&catalogue, &sources).trim_fmt()
            ))?;
        }
        print_remarks(&catalogue);
    }
    Ok(
        match (catalogue.unreadable.len(), catalogue.refused.len()) {
            (0, 0) => Exit::Ok,
            (0, _) => Exit::Problems,
            _ => Exit::Unreadable,
        },
    )
}

fn is_source(text: &str) -> bool {
    is_url(Path::new(text)) || expand(Path::new(text)).is_ok_and(|path| path.exists())
}

/// `LABEL=SOURCE`, unless the whole text is a source.
fn parse_source(text: &str) -> anyhow::Result<LabelledSource> {
    let (label, path) = match text.split_once('=') {
        Some((label, path)) if !is_source(text) => (Some(label.to_owned()), path),
        _ => (None, text),
    };
    let path = expand(Path::new(path)).map_err(|error| usage_error(error.to_string()))?;
    Ok(LabelledSource { path, label })
}

fn catalogue_table(catalogue: &Catalogue, sources: &[LabelledSource]) -> Table {
    let with_labels = sources.iter().any(|source| source.label.is_some());
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    let mut header = vec!["NAME", "VERSION", "TOOLS", "FILES", "SIZE", "DESCRIPTION"];
    if with_labels {
        header.insert(1, "LABEL");
    }
    table.set_header(header);
    for (name, entry) in &catalogue.entries {
        let mut row = vec![
            strip_controls(name, true),
            strip_controls(entry.skill.version.as_deref().unwrap_or("-"), true),
            tool_count(entry),
            entry.skill.bundle.len().to_string(),
            format_size(entry.skill.bundle.total_bytes()),
            first_line(&entry.skill.description),
        ];
        if with_labels {
            row.insert(1, entry.label.clone().unwrap_or_default());
        }
        table.add_row(row);
    }
    table
}

/// Declared tools, and a `+` for those that a tools.py adds when loaded.
fn tool_count(entry: &CatalogueEntry) -> String {
    let more = if entry.skill.python_tools { "+" } else { "" };
    format!("{}{more}", entry.skill.tools.len())
}

fn print_remarks(catalogue: &Catalogue) {
    for shadowed in &catalogue.shadowed {
        output::print_remark(&format!(
            "{}: {} is overridden by {}",
            shadowed.name,
            display_path(&shadowed.hidden),
            display_path(&shadowed.by)
        ));
    }
    for (origin, diagnostics) in &catalogue.refused {
        let why = diagnostics
            .iter()
            .max_by_key(|d| d.severity)
            .map(|d| d.message.as_str());
        let why = why
            .and_then(|message| message.lines().next())
            .unwrap_or("not a skill");
        output::print_error(&format!("{}: {why}", display_path(origin.path())));
    }
    for error in &catalogue.unreadable {
        output::print_error(&error.to_string());
    }
    let skills = format_count(catalogue.entries.len(), "skill");
    let cut = if catalogue.cut_short {
        "; the search ended early"
    } else {
        ""
    };
    output::print_remark(&format!("{skills}{cut}"));
}

fn catalogue_json(catalogue: &Catalogue) -> serde_json::Value {
    let skills = catalogue.entries.values().map(|entry| {
        serde_json::json!({
            "name": entry.skill.name,
            "label": entry.label,
            "path": display_path(entry.origin.path()),
            "description": entry.skill.description,
            "version": entry.skill.version,
            "tools": entry.skill.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
            "python_tools": entry.skill.python_tools,
            "files": entry.skill.bundle.len(),
            "size": entry.skill.bundle.total_bytes(),
            "digest": entry.skill.manifest.digest(),
        })
    });
    let shadowed = catalogue.shadowed.iter().map(
        |s| serde_json::json!({ "name": s.name, "hidden": display_path(&s.hidden), "by": display_path(&s.by) }),
    );
    let refused = catalogue.refused.iter().map(|(origin, diagnostics)| {
        serde_json::json!({ "path": display_path(origin.path()), "diagnostics": diagnostics })
    });
    let unreadable = catalogue
        .unreadable
        .iter()
        .map(|error| serde_json::json!({ "code": error.code(), "message": error.to_string() }));
    serde_json::json!({
        "skills": skills.collect::<Vec<_>>(),
        "shadowed": shadowed.collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
        "unreadable": unreadable.collect::<Vec<_>>(),
        "cut_short": catalogue.cut_short,
    })
}
