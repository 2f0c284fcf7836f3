//! Metrics of what skills take. Names of skills come from tenants, so only some of them get
//! series of their own; all others are one.

use prowess_engine::RunTotals;
use prowess_store::PartCost;

use super::label_set::LabelSet;

/// Skills with series of their own, the first ones since the start of the server.
const MAX_SKILLS: usize = 100;
/// The label of what no skill took. No skill is named so.
const NO_SKILL: &str = "(none)";

const TOKENS: &str = "prowess_skill_tokens_total";
const SANDBOX: &str = "prowess_skill_sandbox_milliseconds_total";

static SKILLS: LabelSet = LabelSet::new(MAX_SKILLS);

/// Adds what a run has used.
pub(super) fn record(run: &RunTotals) {
    let tokens = &run.tokens;
    let mut left = tokens.total_input().saturating_add(tokens.output_tokens);
    let mut left_millis = run.sandbox_millis;
    for cost in run.skills.iter() {
        let label = SKILLS.label(&cost.skill, true);
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
