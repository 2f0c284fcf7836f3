//! A key, from an answer of the API.

use serde_json::Value;

use crate::format::{Moment, count, money, text};
use crate::query::segment;

/// A key, without its secret.
#[derive(Debug)]
pub(super) struct ShownKey {
    pub(super) id: String,
    pub(super) href: String,
    pub(super) name: String,
    pub(super) tenant: String,
    pub(super) prefix: String,
    pub(super) state: String,
    pub(super) scopes: Vec<String>,
    pub(super) models: Vec<String>,
    pub(super) requests_per_minute: Option<u64>,
    pub(super) tokens_per_minute: Option<u64>,
    pub(super) budget: Option<BudgetView>,
    pub(super) created: Option<Moment>,
    pub(super) last_used: Option<Moment>,
    pub(super) expires: Option<Moment>,
    pub(super) previous_until: Option<Moment>,
}

#[derive(Debug)]
pub(super) struct BudgetView {
    pub(super) amount: f64,
    pub(super) period: String,
}

impl ShownKey {
    pub(super) fn read(value: &Value) -> ShownKey {
        let id = text(value, "id");
        let texts = |name: &str| -> Vec<String> {
            let list = value.get(name).and_then(Value::as_array);
            let list = list.into_iter().flatten().filter_map(Value::as_str);
            list.map(str::to_owned).collect()
        };
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        let moment = |name: &str| Moment::from_json(value.get(name));
        let budget = value.get("budget").filter(|budget| budget.is_object());
        ShownKey {
            href: format!("/console/keys/{}", segment(&id)),
            id,
            name: text(value, "name"),
            tenant: text(value, "tenant"),
            prefix: text(value, "prefix"),
            state: text(value, "state"),
            scopes: texts("scopes"),
            models: texts("models"),
            requests_per_minute: number("requests_per_minute"),
            tokens_per_minute: number("tokens_per_minute"),
            budget: budget.map(|budget| BudgetView {
                amount: budget
                    .get("amount")
                    .and_then(Value::as_f64)
                    .unwrap_or_default(),
                period: text(budget, "period"),
            }),
            created: moment("created_at"),
            last_used: moment("last_used_at"),
            expires: moment("expires_at"),
            previous_until: moment("previous_secret_until"),
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.state == "valid"
    }

    /// The colour of its state.
    pub(super) fn badge(&self) -> &'static str {
        match self.state.as_str() {
            "valid" => "ok",
            "expired" => "warn",
            _ => "muted",
        }
    }

    /// Its limits in a few words.
    pub(super) fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        if let Some(requests) = self.requests_per_minute {
            limits.push(format!("{} requests/min", count(requests)));
        }
        if let Some(tokens) = self.tokens_per_minute {
            limits.push(format!("{} tokens/min", count(tokens)));
        }
        if let Some(budget) = &self.budget {
            let amount = money(budget.amount);
            limits.push(match budget.period.as_str() {
                "ever" => format!("{amount} in total"),
                period => format!("{amount} per {period}"),
            });
        }
        if !self.models.is_empty() {
            limits.push(self.models.join(", "));
        }
        limits
    }
}
