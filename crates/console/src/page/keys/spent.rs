//! What a key has spent of its budget, from the usage of its period.

use serde_json::Value;

use super::key_view::{BudgetView, ShownKey};
use crate::api::PageError;
use crate::format::money;
use crate::query::with_query;
use crate::visitor::Visitor;

/// How far usage goes back, for a budget without a period.
const EVER: &str = "400d";

/// A budget, and what is spent of it.
#[derive(Debug)]
pub(super) struct BudgetMeter {
    pub(super) amount: f64,
    pub(super) spent: f64,
    pub(super) text: String,
}

pub(super) async fn find(
    visitor: &Visitor,
    key: &ShownKey,
) -> Result<Option<BudgetMeter>, PageError> {
    let Some(budget) = &key.budget else {
        return Ok(None);
    };
    let now = jiff::Timestamp::now().to_string();
    let since = period_start(budget, &now);
    let pairs = [
        ("by", Some("key")),
        ("since", Some(since.as_str())),
        (
            "tenant",
            Some(&key.tenant)
                .filter(|_| visitor.is_operator)
                .map(String::as_str),
        ),
    ];
    let answer: Value = visitor.api.get(&with_query("/v1/usage", &pairs)).await?;
    let data = answer.get("data").and_then(Value::as_array);
    let own = data
        .into_iter()
        .flatten()
        .find(|it| it.get("key").and_then(Value::as_str) == Some(key.id.as_str()));
    let spent = own.and_then(|own| own.get("cost")).and_then(Value::as_f64);
    let spent = spent.unwrap_or_default();
    let (of, amount) = (money(spent), money(budget.amount));
    Ok(Some(BudgetMeter {
        amount: budget.amount,
        spent,
        text: match budget.period.as_str() {
            "ever" => format!("{of} of {amount}"),
            period => format!("{of} of {amount} this {period}"),
        },
    }))
}

/// The day on which the period began, in UTC as budgets are.
fn period_start(budget: &BudgetView, now: &str) -> String {
    let day = now.get(..10).unwrap_or(now);
    match budget.period.as_str() {
        "day" => day.to_owned(),
        "month" => format!("{}-01", day.get(..7).unwrap_or(day)),
        _ => EVER.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_begins_with_its_first_day() {
        let start = |period: &str| {
            let budget = BudgetView {
                amount: 1.0,
                period: period.to_owned(),
            };
            period_start(&budget, "2026-11-17T18:06:31.5Z")
        };
        assert_eq!(
            ["day", "month", "ever"].map(start),
            ["2026-11-17", "2026-11-01", "400d"]
        );
    }
}
