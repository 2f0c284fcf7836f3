//! `prowess doctor`: tests which sandbox features this host supports.

use comfy_table::{ContentArrangement, Table, presets};
use prowess_sandbox::{Grade, Probe, Sandbox};

use super::sandbox::{SandboxArgs, block_on};
use crate::Exit;
use crate::output::{self, ERROR, GOOD, WARNING};

/// Check which sandbox features this host supports, and what is missing.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: SandboxArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let (settings, _) = args.place.settings()?;
    let probe = block_on(Sandbox::probe(&settings))??;
    if args.json {
        output::print_json(&probe)?;
    } else {
        output::print_text(&format!(
            "{}\n{}\n",
            table(&probe).trim_fmt(),
            verdict(&probe.grade)
        ))?;
    }
    Ok(match probe.grade {
        Grade::Strict => Exit::Ok,
        Grade::Reduced { .. } | Grade::Refused { .. } => Exit::Problems,
    })
}

fn table(probe: &Probe) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    // Advice that applies to several checks is printed once.
    let mut shown_advice: Vec<&str> = Vec::new();
    for check in &probe.checks {
        let mark = if check.ok { "ok" } else { "missing" };
        let mut detail = check.detail.clone();
        if let Some(advice) = check
            .advice
            .as_deref()
            .filter(|text| !shown_advice.contains(text))
        {
            shown_advice.push(advice);
            detail = format!("{detail}\n{advice}");
        }
        table.add_row([mark, &check.name, &detail]);
    }
    table
}

fn verdict(grade: &Grade) -> String {
    match grade {
        Grade::Strict => format!("{GOOD}strict{GOOD:#}: every sandbox feature is available"),
        Grade::Reduced { missing } => format!(
            "{WARNING}reduced{WARNING:#}: without {}; commands run only with \
             --reduced, or with reduced = true under [sandbox] in prowess.toml",
            missing.join(", ")
        ),
        Grade::Refused { reason } => format!("{ERROR}refused{ERROR:#}: {reason}"),
    }
}
