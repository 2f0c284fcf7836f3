//! `GET /v1/usage?by=skill`: what each skill took, and what no skill took. Together they are the
//! total, exactly.

use prowess_store::{PartCost, SkillCost, SkillCostSums};
use serde_json::{Map, Value, json};

/// The response.
pub(super) fn render(sums: &SkillCostSums) -> Value {
    let mut data: Vec<Value> = sums.skills.iter().map(skill_json).collect();
    let mut no_skill = counts(&sums.no_skill, sums.no_skill_sandbox_millis);
    no_skill.insert("object".to_owned(), "usage".into());
    no_skill.insert("skill".to_owned(), Value::Null);
    data.push(no_skill.into());
    let mut total = counts(&sums.total, sums.total_sandbox_millis);
    total.insert("requests".to_owned(), sums.requests.into());
    json!({
        "object": "list",
        "since": sums.since.as_seconds(),
        "by": "skill",
        "data": data,
        "total": total,
    })
}

fn skill_json(cost: &SkillCost) -> Value {
    let mut shown = Map::new();
    shown.insert("object".to_owned(), "usage".into());
    shown.insert("skill".to_owned(), cost.skill.as_str().into());
    shown.insert("skill_id".to_owned(), cost.skill_id.as_deref().into());
    shown.insert("runs_offered".to_owned(), cost.runs.offered.into());
    shown.insert("runs_loaded".to_owned(), cost.runs.loaded.into());
    shown.insert("runs_used".to_owned(), cost.runs.used.into());
    let in_vain = cost.runs.in_vain.max(0);
    shown.insert("runs_loaded_in_vain".to_owned(), in_vain.into());
    shown.extend(counts(&cost.total(), cost.sandbox_millis));
    for (name, part) in [
        ("offered", &cost.offered),
        ("loaded", &cost.loaded),
        ("used", &cost.used),
    ] {
        shown.insert(name.to_owned(), tokens(part).into());
    }
    shown.into()
}

fn counts(part: &PartCost, sandbox_millis: u64) -> Map<String, Value> {
    let mut fields = tokens(part);
    fields.insert("sandbox_ms".to_owned(), sandbox_millis.into());
    fields
}

fn tokens(part: &PartCost) -> Map<String, Value> {
    let mut fields = Map::new();
    for (name, count) in [
        ("input_tokens", part.input_tokens),
        ("output_tokens", part.output_tokens),
        ("cache_read_tokens", part.cache_read_tokens),
        ("cache_write_tokens", part.cache_write_tokens),
    ] {
        fields.insert(name.to_owned(), count.into());
    }
    fields.insert("cost".to_owned(), json!(part.cost_nanos as f64 / 1e9));
    fields
}
