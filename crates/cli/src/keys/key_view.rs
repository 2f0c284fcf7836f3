//! A key as it is shown, whether the store or a server has it.

use comfy_table::{Table, presets};
use prowess_client::RemoteKey;
use prowess_store::{BudgetPeriod, KeyBudget, KeyLimits, KeyRecord, Timestamp};
use serde_json::{Value, json};

use super::limits::{NANOS_PER_UNIT, budget_amount, describe_limits};
use crate::format_date;

/// What is known of a key, except for its secret.
pub(super) struct KeyView {
    pub(super) id: String,
    pub(super) tenant: String,
    name: String,
    prefix: String,
    scopes: Vec<String>,
    limits: KeyLimits,
    auto: Option<bool>,
    state: String,
    created_at: String,
    last_used_at: Option<String>,
    expires_at: Option<String>,
    revoked_at: Option<String>,
    previous_secret_until: Option<String>,
}

impl KeyView {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "tenant": self.tenant,
            "name": self.name,
            "prefix": self.prefix,
            "scopes": self.scopes,
            "models": self.limits.models,
            "requests_per_minute": self.limits.requests_per_minute,
            "tokens_per_minute": self.limits.tokens_per_minute,
            "budget": self.limits.budget.map(|budget| json!({
                "amount": budget_amount(budget),
                "period": budget.period.as_str(),
            })),
            "auto": self.auto,
            "state": self.state,
            "created_at": self.created_at,
            "last_used_at": self.last_used_at,
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
            "previous_secret_until": self.previous_secret_until,
        })
    }

    /// With a secret, which is shown once.
    pub(super) fn to_json_with(&self, secret: &str) -> Value {
        let mut shown = self.to_json();
        if let Some(shown) = shown.as_object_mut() {
            shown.insert("key".to_owned(), secret.into());
        }
        shown
    }

    /// Its scopes and limits in one line.
    pub(super) fn describe(&self) -> String {
        let limits = describe_limits(&self.limits);
        format!(
            "{} for tenant `{}`: {}; {}{}",
            self.id,
            self.tenant,
            self.scopes.join(", "),
            limits.unwrap_or_else(|| "no limits".to_owned()),
            match self.auto {
                Some(true) => "; all stored skills are open to its runs",
                Some(false) => "; its runs use only skills that their requests name",
                None => "",
            }
        )
    }
}

/// A table of keys.
pub(super) fn key_table(keys: &[KeyView]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let header = [
        "ID",
        "PREFIX",
        "NAME",
        "SCOPES",
        "LIMITS",
        "AUTO",
        "LAST USED",
        "STATE",
    ];
    table.set_header(header);
    for key in keys {
        let auto = key.auto.map_or("-", |auto| if auto { "yes" } else { "no" });
        table.add_row([
            &key.id,
            &key.prefix,
            &key.name,
            &key.scopes.join(","),
            &describe_limits(&key.limits).unwrap_or_else(|| "-".to_owned()),
            auto,
            key.last_used_at.as_deref().unwrap_or("-"),
            &key.state,
        ]);
    }
    table
}

impl From<&KeyRecord> for KeyView {
    fn from(key: &KeyRecord) -> KeyView {
        let format = |time: Timestamp| format_date(time.as_seconds());
        let previous = key.previous_until.filter(|at| *at > Timestamp::now());
        KeyView {
            id: key.id.clone(),
            tenant: key.tenant.as_str().to_owned(),
            name: key.name.clone(),
            prefix: key.prefix.clone(),
            scopes: key.scope_names().into_iter().map(str::to_owned).collect(),
            limits: key.limits.clone(),
            auto: key.auto,
            state: key.state().to_owned(),
            created_at: format(key.created_at),
            last_used_at: key.last_used_at.map(format),
            expires_at: key.expires_at.map(format),
            revoked_at: key.revoked_at.map(format),
            previous_secret_until: previous.map(format),
        }
    }
}

impl From<RemoteKey> for KeyView {
    fn from(key: RemoteKey) -> KeyView {
        // To the second, as those of the store are shown.
        let format = |time: String| match time.parse::<jiff::Timestamp>() {
            Ok(time) => format_date(time.as_second()),
            Err(_) => time,
        };
        let budget = key.budget.and_then(|budget| {
            Some(KeyBudget {
                nanos: (budget.amount * NANOS_PER_UNIT).round() as u64,
                period: BudgetPeriod::parse(&budget.period).ok()?,
            })
        });
        KeyView {
            id: key.id,
            tenant: key.tenant,
            name: key.name,
            prefix: key.prefix,
            scopes: key.scopes,
            limits: KeyLimits {
                models: key.models,
                requests_per_minute: key.requests_per_minute,
                tokens_per_minute: key.tokens_per_minute,
                budget,
            },
            auto: key.auto,
            state: key.state,
            created_at: format(key.created_at),
            last_used_at: key.last_used_at.map(format),
            expires_at: key.expires_at.map(format),
            revoked_at: key.revoked_at.map(format),
            previous_secret_until: key.previous_secret_until.map(format),
        }
    }
}
