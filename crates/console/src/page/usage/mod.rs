//! `/console/usage`: money, tokens and requests, by day, skill, model or key.
//!
//! | module | owns |
//! |---|---|
//! | `table` | the rows, from an answer of the API |
//! | `csv` | the same as a file |

mod csv;
mod table;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use serde_json::Value;

use self::table::{UsageLine, UsageTotals};
use crate::api::PageError;
use crate::chart::{Bar, BarChart};
use crate::format::{count, money};
use crate::layout::{Layout, Nav};
use crate::query::{Fields, QueryFields, with_query};
use crate::render::html;
use crate::state::ConsoleState;
use crate::visitor::Visitor;

/// Rows on the page; the file has all.
const MAX_ROWS: usize = 200;
/// Skills among them; there is a row for other skills, and one for no skill.
const MAX_SKILLS: usize = MAX_ROWS - 2;
/// Bars of a chart that is not by days.
const MAX_BARS: usize = 20;

/// How usage can be divided: name in the API, and label.
const GROUPINGS: [(&str, &str); 5] = [
    ("day", "Day"),
    ("skill", "Skill"),
    ("model", "Model"),
    ("key", "Key"),
    ("provider", "Provider"),
];
const PERIODS: [(&str, &str); 4] = [
    ("24h", "24 hours"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("365d", "a year"),
];
const DEFAULT_PERIOD: &str = "30d";

pub(crate) fn routes() -> Router<ConsoleState> {
    Router::new()
        .route("/console/usage", get(show))
        .route("/console/usage.csv", get(csv::download))
}

#[derive(Template)]
#[template(path = "usage.html")]
struct UsagePage {
    layout: Layout,
    by: &'static str,
    by_label: &'static str,
    since: &'static str,
    groupings: Vec<ChoiceLink>,
    periods: &'static [(&'static str, &'static str)],
    rows: Vec<UsageLine>,
    totals: UsageTotals,
    chart: Option<BarChart>,
    left_out: usize,
    /// Whether some skills are in one row together.
    has_others: bool,
    csv: String,
}

struct ChoiceLink {
    href: String,
    label: &'static str,
    is_current: bool,
}

/// What the address asks for.
struct UsageChoice {
    by: &'static str,
    by_label: &'static str,
    since: &'static str,
}

impl UsageChoice {
    /// Anything unknown is the default.
    fn read(query: &Fields) -> UsageChoice {
        let by = query.get("by").unwrap_or("day");
        let chosen = GROUPINGS.iter().find(|(name, _)| *name == by);
        let (by, by_label) = chosen.copied().unwrap_or(("day", "Day"));
        let since = query.get("since").unwrap_or(DEFAULT_PERIOD);
        let since = PERIODS.iter().find(|(name, _)| *name == since);
        UsageChoice {
            by,
            by_label,
            since: since.map_or(DEFAULT_PERIOD, |(name, _)| *name),
        }
    }

    /// The request of the API, for as many rows as the page has, or for all. An operator who
    /// chose a tenant sees its usage only.
    fn path(&self, visitor: &Visitor, limit: Option<usize>) -> String {
        let tenant = visitor.tenant.as_deref().filter(|_| visitor.is_operator);
        // The API limits usage by skill only.
        let limit = limit.filter(|_| self.by == "skill");
        let limit = limit.map(|limit| limit.to_string());
        let pairs = [
            ("by", Some(self.by)),
            ("since", Some(self.since)),
            ("tenant", tenant),
            ("limit", limit.as_deref()),
        ];
        with_query("/v1/usage", &pairs)
    }
}

async fn show(visitor: Visitor, QueryFields(query): QueryFields) -> Result<Response, PageError> {
    let choice = UsageChoice::read(&query);
    let path = choice.path(&visitor, Some(MAX_SKILLS));
    let answer: Value = visitor.api.get(&path).await?;
    let mut rows = table::read(&answer, choice.by);
    let totals = UsageTotals::new(&rows);
    let chart = chart(&choice, &rows);
    if choice.by == "day" {
        // The newest first, unlike in the chart.
        rows.reverse();
    }
    let has_others = choice.by == "skill" && rows.iter().any(|row| row.name == "(other)");
    let left_out = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    let link = |&(name, label): &(&'static str, &'static str)| ChoiceLink {
        href: with_query(
            "/console/usage",
            &[("by", Some(name)), ("since", Some(choice.since))],
        ),
        label,
        is_current: name == choice.by,
    };
    let pairs = [("by", Some(choice.by)), ("since", Some(choice.since))];
    Ok(html(&UsagePage {
        layout: Layout::new(&visitor, "Usage", Nav::Usage).with_curl(&path),
        by: choice.by,
        by_label: choice.by_label,
        since: choice.since,
        groupings: GROUPINGS.iter().map(link).collect(),
        periods: &PERIODS,
        rows,
        totals,
        chart,
        left_out,
        has_others,
        csv: with_query("/console/usage.csv", &pairs),
    }))
}

fn chart(choice: &UsageChoice, rows: &[UsageLine]) -> Option<BarChart> {
    if rows.is_empty() {
        return None;
    }
    let most = if choice.by == "day" { 400 } else { MAX_BARS };
    // Models without a price cost nothing: their bars would all be empty.
    let is_priced = rows.iter().any(|row| row.cost > 0.0);
    let bar = |row: &UsageLine| {
        let tokens = row.input_tokens.saturating_add(row.output_tokens);
        let (value, text) = match is_priced {
            true => (row.cost, money(row.cost)),
            false => (tokens as f64, count(tokens)),
        };
        let label = row.name.clone();
        Bar { label, value, text }
    };
    let skipped = rows.len().saturating_sub(most) * usize::from(choice.by == "day");
    let bars = rows.iter().skip(skipped).take(most).map(bar).collect();
    let amount = if is_priced { "Cost" } else { "Tokens" };
    let title = format!("{amount} by {}", choice.by);
    Some(BarChart::new(title, choice.by_label, amount, bars))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_shows_tokens_where_nothing_has_a_price() {
        let choice = UsageChoice {
            by: "model",
            by_label: "Model",
            since: DEFAULT_PERIOD,
        };
        let drawn = |cost: f64| {
            let row = UsageLine {
                name: "gpt".to_owned(),
                requests: Some(1),
                errors: None,
                input_tokens: 40,
                output_tokens: 2,
                sandbox_millis: 0,
                cost,
            };
            chart(&choice, &[row]).unwrap().render().unwrap()
        };
        let (unpriced, priced) = (drawn(0.0), drawn(0.5));
        assert!(unpriced.contains("Tokens by model") && unpriced.contains("gpt: 42"));
        assert!(priced.contains("Cost by model") && !priced.contains("gpt: 42"));
    }
}
