//! `prowess runtime check [NAME]`

use comfy_table::{ContentArrangement, Table, presets};
use prowess_sandbox::RuntimeName;
use prowess_sandbox::runtimes::{self, InstalledRuntime, RuntimeCheck, RuntimeError, RuntimeStore};
use serde::Serialize;

use super::sandbox_settings;
use crate::config_args::ConfigArgs;
use crate::output::{ERROR, GOOD};
use crate::{Exit, output};

/// Check whether programs and modules of a runtime work in the sandbox.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The runtime; default: all that are installed
    #[arg(value_name = "NAME")]
    name: Option<RuntimeName>,
    #[command(flatten)]
    place: ConfigArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One runtime, as `--json` prints it.
#[derive(Debug, Serialize)]
struct CheckedRuntime {
    name: String,
    ok: bool,
    checks: Vec<RuntimeCheck>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let settings = sandbox_settings(&args.place)?;
    let store = RuntimeStore::new(&settings);
    let runtimes = match &args.name {
        None => store.list(),
        Some(name) => vec![find(&store, name)?],
    };
    let mut checked = Vec::new();
    for runtime in runtimes {
        let checks = runtimes::check(&settings, &runtime.root, &runtime.definition);
        let checks = checks.map_err(RuntimeError::from)?;
        checked.push(CheckedRuntime {
            name: runtime.name.to_string(),
            ok: checks.iter().all(|check| check.ok),
            checks,
        });
    }
    if args.json {
        output::print_json(&checked)?;
    } else {
        for runtime in &checked {
            print(runtime)?;
        }
        if checked.is_empty() {
            output::print_remark("no runtime is installed; see `prowess runtime list`");
        }
    }
    Ok(if checked.iter().all(|runtime| runtime.ok) {
        Exit::Ok
    } else {
        Exit::Problems
    })
}

fn find(store: &RuntimeStore, name: &RuntimeName) -> Result<InstalledRuntime, RuntimeError> {
    store.find(name).ok_or_else(|| RuntimeError::NotInstalled {
        name: name.to_string(),
    })
}

fn print(runtime: &CheckedRuntime) -> anyhow::Result<()> {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    for check in &runtime.checks {
        let mark = if check.ok { "ok" } else { "failed" };
        let mut text = output::first_line(&check.name);
        if !check.ok {
            text = format!("{text}\n{}", check.detail);
        }
        table.add_row([mark, &text]);
    }
    let name = &runtime.name;
    let failed = runtime.checks.iter().filter(|check| !check.ok).count();
    let verdict = if failed == 0 {
        format!("{GOOD}{name}{GOOD:#}: everything works")
    } else {
        let failures = output::format_count(failed, "check");
        format!(
            "{ERROR}{name}{ERROR:#}: {failures} failed; make it again with `prowess runtime \
             install {name} --again`"
        )
    };
    output::print_text(&format!("{}\n{verdict}\n", table.trim_fmt()))
}
