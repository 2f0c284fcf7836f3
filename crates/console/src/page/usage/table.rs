//! Rows of usage, from an answer of the API. Usage by skill has fewer columns than the others.

use serde_json::Value;

use crate::format::{count, duration, money, text};

/// What one day, skill, model or key took.
#[derive(Debug)]
pub(super) struct UsageLine {
    pub(super) name: String,
    /// None where requests belong to several rows.
    pub(super) requests: Option<u64>,
    pub(super) errors: Option<u64>,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) sandbox_millis: u64,
    pub(super) cost: f64,
}

/// The sums of all rows, as people read them.
#[derive(Debug)]
pub(super) struct UsageTotals {
    pub(super) requests: Option<String>,
    pub(super) input_tokens: String,
    pub(super) output_tokens: String,
    pub(super) sandbox: String,
    pub(super) cost: String,
}

/// All rows; days in their order, all else by cost.
pub(super) fn read(answer: &Value, by: &str) -> Vec<UsageLine> {
    let data = answer.get("data").and_then(Value::as_array);
    let rows = data.into_iter().flatten().map(|it| UsageLine::read(it, by));
    let mut rows: Vec<UsageLine> = rows.collect();
    if by == "day" {
        rows.sort_by(|one, other| one.name.cmp(&other.name));
    } else {
        rows.sort_by(|one, other| other.cost.total_cmp(&one.cost));
    }
    rows
}

impl UsageLine {
    fn read(value: &Value, by: &str) -> UsageLine {
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        let name = match text(value, by) {
            // Calls without skills, or of the operator.
            name if name.is_empty() && by == "skill" => "(no skill)".to_owned(),
            name if name.is_empty() => "(operator)".to_owned(),
            name => name,
        };
        UsageLine {
            name,
            requests: number("requests"),
            errors: number("errors"),
            input_tokens: number("input_tokens").unwrap_or_default(),
            output_tokens: number("output_tokens").unwrap_or_default(),
            sandbox_millis: number("sandbox_ms").unwrap_or_default(),
            cost: value
                .get("cost")
                .and_then(Value::as_f64)
                .unwrap_or_default(),
        }
    }

    /// The id of a key, if it is one.
    pub(super) fn key_id(&self) -> Option<&str> {
        Some(self.name.as_str()).filter(|name| name.starts_with("key_"))
    }

    pub(super) fn shown_requests(&self) -> String {
        self.requests.map(count).unwrap_or_default()
    }

    pub(super) fn shown_errors(&self) -> String {
        let errors = self.errors.filter(|errors| *errors > 0);
        errors.map(count).unwrap_or_default()
    }

    pub(super) fn shown_input(&self) -> String {
        count(self.input_tokens)
    }

    pub(super) fn shown_output(&self) -> String {
        count(self.output_tokens)
    }

    pub(super) fn shown_sandbox(&self) -> String {
        duration(self.sandbox_millis)
    }

    pub(super) fn shown_cost(&self) -> String {
        money(self.cost)
    }
}

impl UsageTotals {
    pub(super) fn new(rows: &[UsageLine]) -> UsageTotals {
        let sum = |part: fn(&UsageLine) -> u64| -> u64 { rows.iter().map(part).sum() };
        let requests: Option<u64> = rows.iter().map(|row| row.requests).sum();
        UsageTotals {
            requests: requests.map(count),
            input_tokens: count(sum(|row| row.input_tokens)),
            output_tokens: count(sum(|row| row.output_tokens)),
            sandbox: duration(sum(|row| row.sandbox_millis)),
            cost: money(rows.iter().map(|row| row.cost).sum()),
        }
    }
}
