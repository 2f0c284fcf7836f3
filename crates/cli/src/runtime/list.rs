//! `prowess runtime list`

use std::collections::BTreeMap;

use comfy_table::{ContentArrangement, Table, presets};
use prowess_sandbox::RuntimeName;
use prowess_sandbox::runtimes::{InstalledRuntime, RuntimeDefinition, RuntimeStore};
use serde::Serialize;

use super::sandbox_settings;
use crate::config_args::ConfigArgs;
use crate::{Exit, format_date, output};

/// List runtimes, and whether they are installed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: ConfigArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One runtime, as `--json` prints it.
#[derive(Debug, Serialize)]
struct RuntimeLine {
    name: String,
    /// `installed`, `unfinished` or `available`.
    state: &'static str,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    installed_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packages: Option<usize>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let store = RuntimeStore::new(&sandbox_settings(&args.place)?);
    let mut lines: BTreeMap<String, RuntimeLine> = BTreeMap::new();
    for name in RuntimeDefinition::known_names() {
        let name: RuntimeName = name.parse()?;
        let description = RuntimeDefinition::known(&name)?.description;
        lines.insert(name.to_string(), absent_line(&name, description));
    }
    for name in store.unfinished() {
        let line = lines.entry(name.to_string());
        line.or_insert_with(|| absent_line(&name, String::new()))
            .state = "unfinished";
    }
    for runtime in store.list() {
        lines.insert(runtime.name.to_string(), installed_line(&runtime));
    }
    let lines: Vec<RuntimeLine> = lines.into_values().collect();
    if args.json {
        output::print_json(&lines)?;
    } else {
        output::print_text(&format!("{}\n", table(&lines).trim_fmt()))?;
    }
    Ok(Exit::Ok)
}

fn absent_line(name: &RuntimeName, description: String) -> RuntimeLine {
    RuntimeLine {
        name: name.to_string(),
        state: "available",
        description,
        bytes: None,
        installed_at: None,
        packages: None,
    }
}

fn installed_line(runtime: &InstalledRuntime) -> RuntimeLine {
    let lock = &runtime.lock;
    RuntimeLine {
        name: runtime.name.to_string(),
        state: "installed",
        description: runtime.definition.description.clone(),
        bytes: Some(lock.bytes),
        installed_at: Some(lock.installed_at),
        packages: Some(lock.debian.len() + lock.python.len() + lock.npm.len()),
    }
}

fn table(lines: &[RuntimeLine]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    for line in lines {
        let size = line.bytes.map(output::format_size).unwrap_or_default();
        let date = line.installed_at.and_then(|time| i64::try_from(time).ok());
        let date = date.map(format_date).unwrap_or_default();
        table.add_row([&line.name, line.state, &size, &date, &line.description]);
    }
    table
}
