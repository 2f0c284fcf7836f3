//! `prowess usage --by skill`: what each skill took, and what no skill took.

use comfy_table::{Table, presets};
use prowess_store::{PartCost, SkillCost, SkillCostSums};
use serde_json::{Value, json};

use super::{format_date, output};

/// The name of what no skill took.
const NO_SKILL: &str = "(no skill)";

/// Prints the sums.
pub(super) fn print(sums: &SkillCostSums, as_json: bool) -> anyhow::Result<()> {
    if as_json {
        let mut shown: Vec<Value> = sums.skills.iter().map(skill_json).collect();
        let mut no_skill = part_json(&sums.no_skill);
        if let Some(fields) = no_skill.as_object_mut() {
            fields.insert("skill".to_owned(), Value::Null);
            fields.insert("sandbox_ms".to_owned(), sums.no_skill_sandbox_millis.into());
        }
        shown.push(no_skill);
        return output::print_json(&shown);
    }
    output::print_text(&format!("{}\n", table(sums).trim_fmt()))?;
    output::print_remark(&format!(
        "{} since {}; input and output tokens of each part",
        output::format_count(
            usize::try_from(sums.requests).unwrap_or_default(),
            "request"
        ),
        format_date(sums.since.as_seconds())
    ));
    Ok(())
}

fn table(sums: &SkillCostSums) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "SKILL", "RUNS", "OFFERED", "LOADED", "USED", "OTHER", "COST", "SANDBOX",
    ]);
    for cost in &sums.skills {
        table.add_row([
            output::strip_controls(&cost.skill, true),
            cost.runs.offered.to_string(),
            tokens(&cost.offered),
            tokens(&cost.loaded),
            tokens(&cost.used),
            "-".to_owned(),
            currency(&cost.total()),
            format!("{} ms", cost.sandbox_millis),
        ]);
    }
    let none = || "-".to_owned();
    table.add_row([
        NO_SKILL.to_owned(),
        none(),
        none(),
        none(),
        none(),
        tokens(&sums.no_skill),
        currency(&sums.no_skill),
        format!("{} ms", sums.no_skill_sandbox_millis),
    ]);
    table
}

/// `input+output`, cached input included.
fn tokens(part: &PartCost) -> String {
    let input = part.tokens().saturating_sub(part.output_tokens);
    format!("{input}+{}", part.output_tokens)
}

fn currency(part: &PartCost) -> String {
    format!("{:.4}", part.cost_nanos as f64 / 1e9)
}

fn skill_json(cost: &SkillCost) -> Value {
    json!({
        "skill": cost.skill,
        "skill_id": cost.skill_id,
        "runs_offered": cost.runs.offered,
        "runs_loaded": cost.runs.loaded,
        "runs_used": cost.runs.used,
        "runs_loaded_in_vain": cost.runs.in_vain.max(0),
        "offered": part_json(&cost.offered),
        "loaded": part_json(&cost.loaded),
        "used": part_json(&cost.used),
        "sandbox_ms": cost.sandbox_millis,
    })
}

fn part_json(part: &PartCost) -> Value {
    json!({
        "input_tokens": part.input_tokens,
        "output_tokens": part.output_tokens,
        "cache_read_tokens": part.cache_read_tokens,
        "cache_write_tokens": part.cache_write_tokens,
        "cost": part.cost_nanos as f64 / 1e9,
    })
}
