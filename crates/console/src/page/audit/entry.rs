//! An entry of the audit log, from an answer of the API.

use serde_json::Value;

use crate::format::{Moment, shorten, text};

/// Characters of the states before and after that are shown.
const STATE_CHARS: usize = 2_000;

/// Who changed what, when and from where.
#[derive(Debug)]
pub(super) struct AuditEntry {
    pub(super) id: String,
    pub(super) at: Option<Moment>,
    pub(super) tenant: String,
    pub(super) actor: String,
    pub(super) actor_id: String,
    pub(super) action: String,
    pub(super) object: String,
    pub(super) outcome: String,
    /// The colour of the outcome.
    pub(super) badge: &'static str,
    pub(super) error_code: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    pub(super) peer: String,
    pub(super) request_id: String,
    pub(super) user_agent: String,
}

impl AuditEntry {
    pub(super) fn read(value: &Value) -> AuditEntry {
        let actor = |name: &str| {
            let actor = value.get("actor");
            actor.map(|actor| text(actor, name)).unwrap_or_default()
        };
        let state = |name: &str| {
            let state = value.get(name).filter(|state| !state.is_null())?;
            let state = serde_json::to_string_pretty(state).ok()?;
            Some(shorten(&state, STATE_CHARS))
        };
        let outcome = text(value, "outcome");
        AuditEntry {
            id: text(value, "id"),
            at: Moment::from_json(value.get("at")),
            tenant: text(value, "tenant"),
            actor: match actor("name") {
                name if name.is_empty() => actor("type"),
                name => name,
            },
            actor_id: actor("id"),
            action: text(value, "action"),
            object: text(value, "object"),
            badge: match outcome.as_str() {
                "ok" => "ok",
                "refused" => "warn",
                _ => "bad",
            },
            outcome,
            error_code: text(value, "error_code"),
            before: state("before"),
            after: state("after"),
            peer: text(value, "peer"),
            request_id: text(value, "request_id"),
            user_agent: text(value, "user_agent"),
        }
    }
}
