//! A key as clients see it: never its secret, except once.

use prowess_store::{KeyRecord, SecretKey, Timestamp};
use serde_json::{Value, json};

use crate::render::rfc3339;

/// Nano-units per unit of money.
const NANOS_PER_UNIT: f64 = 1e9;

pub(super) fn key_json(key: &KeyRecord) -> Value {
    let time = |time: Option<Timestamp>| time.map(rfc3339);
    let limits = &key.limits;
    json!({
        "id": key.id,
        "type": "key",
        "tenant": key.tenant.as_str(),
        "name": key.name,
        "prefix": key.prefix,
        "scopes": key.scope_names(),
        "models": limits.models,
        "requests_per_minute": limits.requests_per_minute,
        "tokens_per_minute": limits.tokens_per_minute,
        "budget": limits.budget.map(|budget| json!({
            "amount": budget.nanos as f64 / NANOS_PER_UNIT,
            "period": budget.period.as_str(),
        })),
        "auto": key.auto,
        "state": key.state(),
        "created_at": rfc3339(key.created_at),
        "last_used_at": time(key.last_used_at),
        "expires_at": time(key.expires_at),
        "revoked_at": time(key.revoked_at),
        "previous_secret_until": time(key.previous_until.filter(|at| *at > Timestamp::now())),
    })
}

/// A key with its new secret, which is in no other response.
pub(super) fn created_json(key: &KeyRecord, secret: &SecretKey) -> Value {
    let mut shown = key_json(key);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("key".to_owned(), secret.reveal().into());
    }
    shown
}
