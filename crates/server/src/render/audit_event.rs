//! Entries of the audit log as JSON, for the API and for the command line.

use prowess_store::AuditEvent;
use serde_json::{Value, json};

use super::rfc3339;

/// An entry as the API and `prowess audit --json` show it.
pub fn audit_event_json(event: &AuditEvent) -> Value {
    json!({
        "id": event.id,
        "type": "audit_event",
        "tenant": event.tenant,
        "at": rfc3339(event.at),
        "actor": {
            "type": event.actor_kind,
            "id": event.actor_id,
            "name": event.actor_name,
        },
        "action": event.action,
        "object": event.object,
        "outcome": event.outcome,
        "error_code": event.error_code,
        "before": event.before,
        "after": event.after,
        "peer": event.peer,
        "request_id": event.request,
        "user_agent": event.user_agent,
    })
}
