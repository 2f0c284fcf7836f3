//! The sandbox: which features this host supports, and the verdict.

use comfy_table::{ContentArrangement, Table, presets};
use prowess_sandbox::{Grade, Probe};

use super::part::PartReport;
use crate::output::{ERROR, GOOD, WARNING};

const SANDBOX: &str = "sandbox";

/// The checks and the verdict as text.
pub(super) fn text(probe: &Probe) -> String {
    let verdict = verdict(&probe.grade);
    if probe.checks.is_empty() {
        return format!("{verdict}\n");
    }
    format!("{}\n{verdict}\n", table(probe).trim_fmt())
}

/// The verdict and the checks as parts of a report.
pub(super) fn parts(probe: &Probe) -> Vec<PartReport> {
    let mut parts = vec![match &probe.grade {
        Grade::Strict => PartReport::ok(SANDBOX, "strict: every feature is available"),
        Grade::Reduced { missing } => PartReport::note(
            SANDBOX,
            format!("reduced: without {}", missing.join(", ")),
            "see what is missing below",
        ),
        Grade::Refused { reason } => PartReport::missing(
            SANDBOX,
            format!("refused: {reason}"),
            "see what is missing below",
        ),
    }];
    parts.extend(probe.checks.iter().map(|check| {
        let part = format!("{SANDBOX}: {}", check.name);
        let mut report = match check.ok {
            true => PartReport::ok(part, &*check.detail),
            false => PartReport::missing(part, &*check.detail, ""),
        };
        report.advice = check.advice.clone();
        report
    }));
    parts
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
            "{WARNING}reduced{WARNING:#}: without {}; code runs only with --reduced, such as \
             `prowess serve --reduced`, or with reduced = true under [sandbox] in prowess.toml",
            missing.join(", ")
        ),
        Grade::Refused { reason } => format!("{ERROR}refused{ERROR:#}: {reason}"),
    }
}
