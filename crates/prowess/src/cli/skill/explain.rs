//! `prowess skill explain [CODE]`

use prowess_skill::rules::{self, DiagnosticRule};

use crate::cli::output::{self, DIM, STRONG};
use crate::cli::{Exit, usage_error};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The code of a rule, such as name-mismatch; without one, all rules are listed
    code: Option<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let Some(code) = &args.code else {
        let lines: String = rules::ALL.iter().map(|rule| rule_line(rule)).collect();
        output::print_text(&lines)?;
        return Ok(Exit::Ok);
    };
    let Some(rule) = rules::find(code) else {
        let message = format!("there is no rule `{code}`; `prowess skill explain` lists them");
        return Err(usage_error(message));
    };
    let severity = format!("{:?}", rule.severity).to_lowercase();
    let strict = if rule.strict {
        "an error with --strict, as for the reference validator"
    } else {
        "not known to the reference validator"
    };
    output::print_text(&format!(
        "{STRONG}{}{STRONG:#}\n  {}\n\n  {}\n\n  Severity: {severity}; {strict}.\n",
        rule.code, rule.title, rule.fix
    ))?;
    Ok(Exit::Ok)
}

fn rule_line(rule: &DiagnosticRule) -> String {
    format!(
        "{STRONG}{:<24}{STRONG:#} {DIM}{:<8}{DIM:#} {}\n",
        rule.code,
        format!("{:?}", rule.severity).to_lowercase(),
        rule.title
    )
}
