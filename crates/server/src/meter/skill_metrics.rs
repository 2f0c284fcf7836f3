//! Metrics of what skills take. Names of skills come from tenants, so only some of them get
//! series of their own; all others are one.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use prowess_engine::RunTotals;
use prowess_store::PartCost;

/// Skills with series of their own, the first ones since the start of the server.
const MAX_SKILLS: usize = 100;
/// The label of all others, and of what no skill took. No skill is named so.
const OTHER_SKILLS: &str = "(other)";
const NO_SKILL: &str = "(none)";

const TOKENS: &str = "prowess_skill_tokens_total";
const SANDBOX: &str = "prowess_skill_sandbox_milliseconds_total";

static KNOWN: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// Adds what a run has used.
pub(super) fn record(run: &RunTotals) {
    let tokens = &run.tokens;
    let mut left = tokens.total_input().saturating_add(tokens.output_tokens);
    let mut left_millis = run.sandbox_millis;
    for cost in run.skills.iter() {
        let label = label(&cost.skill);
        for (part, taken) in [
            ("offered", &cost.offered),
            ("loaded", &cost.loaded),
            ("used", &cost.used),
        ] {
            add_tokens(&label, part, taken);
        }
        add_millis(&label, cost.sandbox_millis);
        left = left.saturating_sub(cost.total().tokens());
        left_millis = left_millis.saturating_sub(cost.sandbox_millis);
    }
    let rest = PartCost {
        input_tokens: left,
        ..PartCost::default()
    };
    add_tokens(NO_SKILL, NO_SKILL, &rest);
    add_millis(NO_SKILL, left_millis);
}

fn add_tokens(skill: &str, part: &'static str, taken: &PartCost) {
    let tokens = taken.tokens();
    if tokens > 0 {
        metrics::counter!(TOKENS, "skill" => skill.to_owned(), "part" => part).increment(tokens);
    }
}

fn add_millis(skill: &str, millis: u64) {
    if millis > 0 {
        metrics::counter!(SANDBOX, "skill" => skill.to_owned()).increment(millis);
    }
}

/// The label of a skill.
fn label(skill: &str) -> String {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.contains(skill) {
        return skill.to_owned();
    }
    if known.len() < MAX_SKILLS {
        known.insert(skill.to_owned());
        return skill.to_owned();
    }
    OTHER_SKILLS.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_names_gets_a_bounded_number_of_labels() {
        let labels: HashSet<String> = (0..10 * MAX_SKILLS)
            .map(|number| label(&format!("skill-{number}")))
            .collect();
        assert!(labels.len() <= MAX_SKILLS + 1, "{}", labels.len());
        assert!(labels.contains(OTHER_SKILLS));
    }
}
