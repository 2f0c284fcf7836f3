//! `prowess skill explain [CODE]`: the rules of the format and those of the scanner.

use prowess_skill::rules::{self, DiagnosticRule};
use prowess_skill::scan::{RULES as SCAN_RULES, ScanRule};
use serde_json::{Value, json};
use strsim::levenshtein;

use crate::output::{self, DIM, STRONG};
use crate::{Exit, usage_error};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The code of a rule, such as name-mismatch or EXEC-FETCH; without one, all rules are
    /// listed
    code: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A rule of either kind.
#[derive(Debug, Clone, Copy)]
enum ExplainedRule {
    /// Of `prowess skill validate`.
    Format(&'static DiagnosticRule),
    /// Of `prowess skill scan`.
    Scan(&'static ScanRule),
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let Some(code) = &args.code else {
        print_all(args.json)?;
        return Ok(Exit::Ok);
    };
    let mut all = all_rules();
    let Some(rule) = all.find(|rule| rule.code().eq_ignore_ascii_case(code)) else {
        return Err(usage_error(unknown_rule(code)));
    };
    match args.json {
        true => output::print_json(&rule.to_json())?,
        false => output::print_text(&rule.page())?,
    }
    Ok(Exit::Ok)
}

fn all_rules() -> impl Iterator<Item = ExplainedRule> {
    let format = rules::ALL.iter().copied().map(ExplainedRule::Format);
    let scan = SCAN_RULES.iter().copied().map(ExplainedRule::Scan);
    format.chain(scan)
}

fn print_all(json: bool) -> anyhow::Result<()> {
    if json {
        let rules: Vec<Value> = all_rules().map(ExplainedRule::to_json).collect();
        return output::print_json(&json!({ "rules": rules }));
    }
    let (format, scan): (Vec<_>, Vec<_>) =
        all_rules().partition(|rule| matches!(rule, ExplainedRule::Format(_)));
    let lines =
        |rules: Vec<ExplainedRule>| -> String { rules.iter().map(|rule| rule.line()).collect() };
    output::print_text(&format!(
        "Rules of `prowess skill validate`:\n{}\nRules of `prowess skill scan`:\n{}",
        lines(format),
        lines(scan)
    ))
}

/// What to say about a code that no rule has: similar codes, if there are any.
fn unknown_rule(code: &str) -> String {
    let written = code.to_lowercase();
    let mut near: Vec<(usize, &str)> = all_rules()
        .map(|rule| {
            let known = rule.code().to_lowercase();
            let distance = match known.contains(&written) || written.contains(&known) {
                true => 0,
                false => levenshtein(&written, &known),
            };
            (distance, rule.code())
        })
        .filter(|(distance, _)| *distance <= 1 + written.len() / 3)
        .collect();
    near.sort_unstable();
    let near: Vec<String> = near
        .iter()
        .take(MAX_SUGGESTIONS)
        .map(|(_, code)| format!("`{code}`"))
        .collect();
    if near.is_empty() {
        return format!("unknown rule `{code}`; `prowess skill explain` lists all rules");
    }
    format!(
        "unknown rule `{code}`; similar: {}; `prowess skill explain` lists all rules",
        near.join(", ")
    )
}

const MAX_SUGGESTIONS: usize = 3;

impl ExplainedRule {
    fn code(self) -> &'static str {
        match self {
            ExplainedRule::Format(rule) => rule.code,
            ExplainedRule::Scan(rule) => rule.id,
        }
    }

    fn severity(self) -> String {
        match self {
            ExplainedRule::Format(rule) => format!("{:?}", rule.severity).to_lowercase(),
            ExplainedRule::Scan(rule) => rule.severity.as_str().to_owned(),
        }
    }

    fn title(self) -> &'static str {
        match self {
            ExplainedRule::Format(rule) => rule.title,
            ExplainedRule::Scan(rule) => rule.title,
        }
    }

    fn line(self) -> String {
        format!(
            "{STRONG}{:<24}{STRONG:#} {DIM}{:<8}{DIM:#} {}\n",
            self.code(),
            self.severity(),
            self.title()
        )
    }

    fn to_json(self) -> Value {
        let (code, severity, title) = (self.code(), self.severity(), self.title());
        match self {
            ExplainedRule::Format(rule) => json!({
                "code": code,
                "kind": "format",
                "severity": severity,
                "title": title,
                "fix": rule.fix,
                "strict": rule.strict,
            }),
            ExplainedRule::Scan(rule) => json!({
                "code": code,
                "kind": "scan",
                "severity": severity,
                "title": title,
                "description": rule.description,
                "fix": rule.help,
            }),
        }
    }

    /// All about one rule.
    fn page(self) -> String {
        let severity = self.severity();
        let (code, title) = (self.code(), self.title());
        let head = format!("{STRONG}{code}{STRONG:#}\n  {title}\n");
        match self {
            ExplainedRule::Format(rule) => {
                let strict = if rule.strict {
                    "an error with --strict, as for the reference validator"
                } else {
                    "not known to the reference validator"
                };
                let fix = rule.fix;
                format!("{head}\n  {fix}\n\n  Severity: {severity}; {strict}.\n")
            }
            ExplainedRule::Scan(rule) => format!(
                "{head}\n  {}\n\n  {}\n\n  Severity: {severity}, higher or lower depending on \
                 where it is found.\n",
                rule.description, rule.help
            ),
        }
    }
}
