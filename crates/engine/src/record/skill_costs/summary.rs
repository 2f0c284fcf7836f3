//! What skills took, as JSON for the record of the run.

use prowess_store::{PartCost, SkillCost};
use serde_json::{Map, Value, json};

use super::observe::CostObserver;

impl CostObserver {
    /// What each skill took, by name.
    pub(crate) fn skill_summaries(&self) -> impl Iterator<Item = (SkillCost, Value)> {
        let costs = self.totals.skill_costs().into_iter();
        costs.map(|cost| {
            let took = took(&cost);
            (cost, took)
        })
    }

    /// What no skill took: with all skills, it is the total of the run.
    pub(crate) fn no_skill_summary(&self) -> Value {
        let mut left = self.totals.total;
        let mut millis = self.totals.sandbox_millis;
        for cost in self.totals.skill_costs() {
            left = left.since(&cost.total());
            millis = millis.saturating_sub(cost.sandbox_millis);
        }
        let mut fields = part(&left);
        fields.insert("sandbox_ms".to_owned(), millis.into());
        fields.into()
    }

    /// What all turns cost, in the price currency.
    pub(crate) fn total_cost(&self) -> f64 {
        to_currency(self.totals.total.cost_nanos)
    }
}

fn took(cost: &SkillCost) -> Value {
    let mut fields = Map::new();
    for (name, taken) in [
        ("offered", &cost.offered),
        ("loaded", &cost.loaded),
        ("used", &cost.used),
    ] {
        if !taken.is_zero() {
            fields.insert(name.to_owned(), part(taken).into());
        }
    }
    if cost.sandbox_millis > 0 {
        fields.insert("sandbox_ms".to_owned(), cost.sandbox_millis.into());
    }
    fields.into()
}

/// The counts that are not zero.
fn part(part: &PartCost) -> Map<String, Value> {
    let counts = [
        ("input_tokens", part.input_tokens),
        ("output_tokens", part.output_tokens),
        ("cache_read_tokens", part.cache_read_tokens),
        ("cache_write_tokens", part.cache_write_tokens),
    ];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let mut fields: Map<String, Value> = counts
        .map(|(name, count)| (name.to_owned(), count.into()))
        .collect();
    if part.cost_nanos > 0 {
        fields.insert("cost".to_owned(), json!(to_currency(part.cost_nanos)));
    }
    fields
}

fn to_currency(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}
