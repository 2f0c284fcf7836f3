//! A key in the audit log: all that matters about it, and nothing secret.

use serde_json::{Value, json};

use super::KeyRecord;
use crate::time::Timestamp;

/// Nano-units per unit of money.
const NANOS_PER_UNIT: f64 = 1e9;

impl KeyRecord {
    /// The names of its scopes.
    pub fn scope_names(&self) -> Vec<&'static str> {
        self.scopes.iter().map(|scope| scope.as_str()).collect()
    }

    /// As the audit log has it.
    pub(super) fn audit_state(&self) -> Value {
        let limits = &self.limits;
        json!({
            "name": self.name,
            "prefix": self.prefix,
            "scopes": self.scope_names(),
            "models": limits.models,
            "requests_per_minute": limits.requests_per_minute,
            "tokens_per_minute": limits.tokens_per_minute,
            "budget": limits.budget.map(|budget| json!({
                "amount": budget.nanos as f64 / NANOS_PER_UNIT,
                "period": budget.period.as_str(),
            })),
            "auto": self.auto,
            "expires_at": self.expires_at.map(Timestamp::as_seconds),
            "previous_until": self.previous_until.map(Timestamp::as_seconds),
            "state": self.state(),
        })
    }
}
