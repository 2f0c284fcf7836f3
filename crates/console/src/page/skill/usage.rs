//! The tab with what a skill was used for in the last days, and what it cost.

use askama::Template;
use serde_json::Value;

use super::tab::{TabContext, render_tab};
use crate::api::{Api, PageError};
use crate::format::{Moment, count, duration, money};
use crate::query::with_query;

/// Days that are looked back.
const DAYS: &str = "30";
/// The same, as the API has it for costs.
const SINCE: &str = "30d";
/// Pages of the list of used skills in which the skill is looked for.
const MAX_PAGES: usize = 5;

#[derive(Template)]
#[template(path = "skill_usage.html")]
struct UsageTab {
    days: &'static str,
    /// Why the runs are not shown.
    refused: Option<String>,
    runs: Option<RunCounts>,
    costs: Option<CostCounts>,
}

struct RunCounts {
    offered: String,
    loaded: String,
    used: String,
    in_vain: String,
    last_used: Option<Moment>,
}

struct CostCounts {
    cost: String,
    input: String,
    output: String,
    sandbox: String,
}

pub(super) async fn render(context: &TabContext<'_>) -> Result<String, PageError> {
    let api = &context.visitor.api;
    let id = context.skill.id.as_str();
    let mut tab = UsageTab {
        days: DAYS,
        refused: None,
        runs: None,
        costs: None,
    };
    match find_runs(api, id).await {
        Ok(runs) => tab.runs = runs,
        // Reading runs needs a scope of its own.
        Err(error) if error.status.is_client_error() => tab.refused = Some(error.message),
        Err(error) => return Err(error),
    }
    if context.visitor.has_scope("admin") {
        tab.costs = find_costs(api, id).await?;
    }
    render_tab(&tab)
}

async fn find_runs(api: &Api, id: &str) -> Result<Option<RunCounts>, PageError> {
    let mut page: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let pairs = [
            ("days", Some(DAYS)),
            ("limit", Some("100")),
            ("page", page.as_deref()),
        ];
        let answer: Value = api.get(&with_query("/v1/skills/usage", &pairs)).await?;
        if let Some(found) = of_skill(&answer, id) {
            let number = |name: &str| found.get(name).and_then(Value::as_u64).unwrap_or(0);
            let names = ["runs_offered", "runs_loaded", "runs_used"];
            // Skills that no run had are listed too.
            if names.iter().all(|name| number(name) == 0) {
                return Ok(None);
            }
            let number = |name| count(number(name));
            return Ok(Some(RunCounts {
                offered: number("runs_offered"),
                loaded: number("runs_loaded"),
                used: number("runs_used"),
                in_vain: number("runs_loaded_in_vain"),
                last_used: Moment::from_json(found.get("last_used_at")),
            }));
        }
        let next = answer.get("next_page").and_then(Value::as_str);
        page = next.map(str::to_owned);
        if page.is_none() {
            break;
        }
    }
    Ok(None)
}

async fn find_costs(api: &Api, id: &str) -> Result<Option<CostCounts>, PageError> {
    let pairs = [("by", Some("skill")), ("since", Some(SINCE))];
    let answer: Value = api.get(&with_query("/v1/usage", &pairs)).await?;
    Ok(of_skill(&answer, id).map(|found| {
        let number = |name: &str| found.get(name).and_then(Value::as_u64).unwrap_or(0);
        let cost = found.get("cost").and_then(Value::as_f64);
        CostCounts {
            cost: money(cost.unwrap_or_default()),
            input: count(number("input_tokens")),
            output: count(number("output_tokens")),
            sandbox: duration(number("sandbox_ms")),
        }
    }))
}

/// The entry of a list that is about a skill.
fn of_skill<'a>(answer: &'a Value, id: &str) -> Option<&'a Value> {
    let data = answer.get("data").and_then(Value::as_array)?;
    let is_it = |value: &&Value| value.get("skill_id").and_then(Value::as_str) == Some(id);
    data.iter().find(is_it)
}
