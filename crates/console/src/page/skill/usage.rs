//! The tab with what a skill was used for in the last days, and what it cost.

use askama::Template;
use serde_json::Value;

use super::tab::{TabContext, render_tab};
use crate::api::PageError;
use crate::format::{Moment, count, duration, money};
use crate::query::with_query;

/// Days that are looked back.
const DAYS: &str = "30";

#[derive(Template)]
#[template(path = "skill_usage.html")]
struct UsageTab {
    days: &'static str,
    /// Why the runs are not shown.
    refused: Option<String>,
    runs: Option<RunCells>,
    costs: Option<CostCells>,
}

struct RunCells {
    offered: String,
    loaded: String,
    used: String,
    in_vain: String,
    last_used: Option<Moment>,
}

struct CostCells {
    cost: String,
    input: String,
    output: String,
    sandbox: String,
}

pub(super) async fn render(context: &TabContext<'_>) -> Result<String, PageError> {
    let mut tab = UsageTab {
        days: DAYS,
        refused: None,
        runs: None,
        costs: None,
    };
    let id = context.skill.id.as_str();
    let path = with_query(
        "/v1/skills/usage",
        &[("days", Some(DAYS)), ("skill_id", Some(id))],
    );
    let answer: Result<Value, PageError> = context.visitor.api.get(&path).await;
    match answer {
        Ok(answer) => {
            // A skill without any costs in the period is not in the answer.
            if let Some(found) = answer.pointer("/data/0") {
                tab.runs = Some(RunCells::read(found));
                let is_admin = context.visitor.has_scope("admin");
                tab.costs = is_admin.then(|| CostCells::read(found));
            }
        }
        // Reading runs needs a scope of its own.
        Err(error) if error.status.is_client_error() => tab.refused = Some(error.message),
        Err(error) => return Err(error),
    }
    render_tab(&tab)
}

impl RunCells {
    fn read(found: &Value) -> RunCells {
        let number = |name: &str| count(number(found, name));
        RunCells {
            offered: number("runs_offered"),
            loaded: number("runs_loaded"),
            used: number("runs_used"),
            in_vain: number("runs_loaded_in_vain"),
            last_used: Moment::from_json(found.get("last_used_at")),
        }
    }
}

impl CostCells {
    fn read(found: &Value) -> CostCells {
        let cost = found.get("cost").and_then(Value::as_f64);
        CostCells {
            cost: money(cost.unwrap_or_default()),
            input: count(number(found, "input_tokens")),
            output: count(number(found, "output_tokens")),
            sandbox: duration(number(found, "sandbox_ms")),
        }
    }
}

fn number(found: &Value, name: &str) -> u64 {
    found.get(name).and_then(Value::as_u64).unwrap_or_default()
}
