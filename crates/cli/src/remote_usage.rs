//! Usage as a server reports it, in the form in which the store has it. Its costs are exact: they
//! are sent in the currency, of which a number has all billionths.

use anyhow::Context;
use prowess_store::{
    PartCost, RunCounts, SkillCost, SkillCostSums, Timestamp, UsageGrouping, UsageSum,
};
use serde_json::Value;

/// The sums of a report by anything but skill.
pub(super) fn sums(by: UsageGrouping, report: &Value) -> anyhow::Result<Vec<UsageSum>> {
    let sum = |row: &Value| {
        let requests = number(row, "requests");
        UsageSum {
            group: text(row, by.as_str()).unwrap_or_default(),
            requests,
            errors: number(row, "errors"),
            unpriced: number(row, "requests_without_price"),
            estimated: number(row, "requests_estimated"),
            input_tokens: number(row, "input_tokens"),
            output_tokens: number(row, "output_tokens"),
            cache_read_tokens: number(row, "cache_read_tokens"),
            cache_write_tokens: number(row, "cache_write_tokens"),
            cost_nanos: cost_nanos(row),
            millis: number(row, "average_ms").saturating_mul(requests),
            sandbox_millis: number(row, "sandbox_ms"),
        }
    };
    Ok(rows(report)?.iter().map(sum).collect())
}

/// The sums of a report by skill.
pub(super) fn skill_sums(report: &Value) -> anyhow::Result<SkillCostSums> {
    let (of_skills, of_none): (Vec<&Value>, Vec<&Value>) = rows(report)?
        .iter()
        .partition(|row| row.get("skill").is_some_and(Value::is_string));
    let no_skill = of_none.first().copied().unwrap_or(&Value::Null);
    let total = report.get("total").unwrap_or(&Value::Null);
    Ok(SkillCostSums {
        since: since(report),
        skills: of_skills.into_iter().map(skill_cost).collect(),
        no_skill: part(no_skill),
        no_skill_sandbox_millis: number(no_skill, "sandbox_ms"),
        total: part(total),
        total_sandbox_millis: number(total, "sandbox_ms"),
        requests: number(total, "requests"),
    })
}

/// The beginning of the period.
pub(super) fn since(report: &Value) -> Timestamp {
    let seconds = report.get("since").and_then(Value::as_i64);
    Timestamp::from_micros(seconds.unwrap_or_default().saturating_mul(1_000_000))
}

fn rows(report: &Value) -> anyhow::Result<&Vec<Value>> {
    let rows = report.get("data").and_then(Value::as_array);
    rows.context("the server sent no usage")
}

fn skill_cost(row: &Value) -> SkillCost {
    let of = |name: &str| part(row.get(name).unwrap_or(&Value::Null));
    let in_vain = number(row, "runs_loaded_in_vain");
    SkillCost {
        skill: text(row, "skill").unwrap_or_default(),
        skill_id: text(row, "skill_id"),
        runs: RunCounts {
            offered: number(row, "runs_offered"),
            loaded: number(row, "runs_loaded"),
            used: number(row, "runs_used"),
            in_vain: i64::try_from(in_vain).unwrap_or(i64::MAX),
        },
        offered: of("offered"),
        loaded: of("loaded"),
        used: of("used"),
        sandbox_millis: number(row, "sandbox_ms"),
    }
}

fn part(row: &Value) -> PartCost {
    PartCost {
        input_tokens: number(row, "input_tokens"),
        output_tokens: number(row, "output_tokens"),
        cache_read_tokens: number(row, "cache_read_tokens"),
        cache_write_tokens: number(row, "cache_write_tokens"),
        cost_nanos: cost_nanos(row),
    }
}

fn text(row: &Value, name: &str) -> Option<String> {
    row.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn number(row: &Value, name: &str) -> u64 {
    row.get(name).and_then(Value::as_u64).unwrap_or_default()
}

fn cost_nanos(row: &Value) -> u64 {
    let cost = row.get("cost").and_then(Value::as_f64);
    (cost.unwrap_or_default() * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn costs_keep_their_billionths() {
        for nanos in [0_u64, 1, 3, 999_999_999, 123_456_789_012] {
            let sent = json!({ "cost": nanos as f64 / 1e9 });
            assert_eq!(cost_nanos(&sent), nanos);
        }
    }

    #[test]
    fn what_is_no_report_of_usage_is_refused() {
        assert!(sums(UsageGrouping::Model, &json!({ "status": "ok" })).is_err());
        assert!(skill_sums(&json!([])).is_err());
    }
}
