//! The fields of a form about a key, filled in with what it has.

use askama::Template;

use super::key_view::ShownKey;

/// Scopes and limits. Templates show it by `|safe`: it escapes itself.
#[derive(Template)]
#[template(path = "key_fields.html")]
pub(super) struct KeyFormFields {
    has_read: bool,
    has_use: bool,
    has_publish: bool,
    has_release: bool,
    has_providers: bool,
    has_metrics: bool,
    has_admin: bool,
    models: String,
    requests: String,
    tokens: String,
    budget: String,
    is_month: bool,
    is_day: bool,
    is_ever: bool,
}

impl KeyFormFields {
    /// Of a key that may use and read, without limits.
    pub(super) fn for_new_key() -> KeyFormFields {
        KeyFormFields {
            has_read: true,
            has_use: true,
            has_publish: false,
            has_release: false,
            has_providers: false,
            has_metrics: false,
            has_admin: false,
            models: String::new(),
            requests: String::new(),
            tokens: String::new(),
            budget: String::new(),
            is_month: true,
            is_day: false,
            is_ever: false,
        }
    }

    pub(super) fn from_key(key: &ShownKey) -> KeyFormFields {
        let has = |scope| key.scopes.iter().any(|own| own == scope);
        let number = |value: Option<u64>| value.map(|it| it.to_string()).unwrap_or_default();
        let budget = key.budget.as_ref();
        let period = budget.map_or("month", |budget| budget.period.as_str());
        KeyFormFields {
            has_read: has("read"),
            has_use: has("use"),
            has_publish: has("publish"),
            has_release: has("release"),
            has_providers: has("providers"),
            has_metrics: has("metrics"),
            has_admin: has("admin"),
            models: key.models.join(", "),
            requests: number(key.requests_per_minute),
            tokens: number(key.tokens_per_minute),
            budget: budget.map(|it| it.amount.to_string()).unwrap_or_default(),
            is_month: period == "month",
            is_day: period == "day",
            is_ever: period == "ever",
        }
    }
}
