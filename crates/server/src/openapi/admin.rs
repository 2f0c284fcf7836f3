//! The objects and bodies of `/v1/admin`, which no vendor has. They are described below OpenAI's
//! mount, so their names begin as those of its objects do.

use serde_json::{Map, Value, json};

use super::schemas::{array, constant, object, text};

const SCOPES: [&str; 7] = [
    "read",
    "use",
    "publish",
    "release",
    "providers",
    "metrics",
    "admin",
];
const PERIODS: [&str; 3] = ["day", "month", "ever"];

pub(super) fn schemas() -> Value {
    let integer = json!({ "type": "integer" });
    let number = json!({ "type": "number" });
    let any = json!({ "type": "object" });
    let time = json!({ "type": "string", "format": "date-time" });
    let target = object(&[
        ("model", nullable("string")),
        (
            "breaker",
            object(&[("state", text()), ("consecutive_failures", integer.clone())]),
        ),
        ("in_flight", integer.clone()),
        ("attempts", integer.clone()),
        ("failed", integer.clone()),
        ("last_latency_ms", nullable("number")),
        ("average_latency_ms", nullable("number")),
        ("last_error", nullable("object")),
        ("deployment", nullable("object")),
    ]);
    json!({
        "OpenAiKey": object(&key_fields()),
        "OpenAiCreatedKey": object(&[key_fields(), vec![("key", text())]].concat()),
        "OpenAiKeyList": list("OpenAiKey"),
        "OpenAiAuditEvent": object(&[
            ("id", text()), ("type", constant("audit_event")), ("tenant", text()),
            ("at", time.clone()), ("actor", object(&[("type", text())])), ("action", text()),
            ("object", nullable("string")), ("outcome", text()),
            ("error_code", nullable("string")), ("before", nullable("object")),
            ("after", nullable("object")), ("peer", nullable("string")),
            ("request_id", nullable("string")), ("user_agent", nullable("string")),
        ]),
        "OpenAiAuditEventList": list("OpenAiAuditEvent"),
        "OpenAiTenant": object(&[
            ("id", text()), ("type", constant("tenant")), ("name", text()), ("created_at", time),
            ("skills", integer.clone()), ("versions", integer.clone()),
            ("files", integer.clone()), ("stored_bytes", integer.clone()),
            ("keys", integer.clone()), ("runs", integer.clone()), ("requests", integer),
            ("cost", number),
        ]),
        "OpenAiTenantList": list("OpenAiTenant"),
        "OpenAiProviderHealth": object(&[
            ("id", text()), ("type", constant("provider")), ("kind", text()),
            ("targets", json!({ "type": "array", "items": target })),
        ]),
        "OpenAiProviderHealthList": list("OpenAiProviderHealth"),
        "OpenAiConfiguration": object(&[
            ("type", constant("configuration")), ("version", text()), ("database", text()),
            ("generation", json!({ "type": "integer" })),
            ("read_at", json!({ "type": "string", "format": "date-time" })),
            ("settings", json!({ "anyOf": [any, { "type": "null" }] })),
        ]),
        "OpenAiDoctorReport": object(&[
            ("type", constant("doctor_report")),
            ("checked_at", json!({ "type": "string", "format": "date-time" })),
            ("ok", json!({ "type": "boolean" })),
            ("data", json!({ "type": "array", "items": object(&[
                ("part", text()),
                ("state", json!({ "type": "string", "enum": ["ok", "note", "missing"] })),
                ("detail", text()),
            ]) })),
        ]),
        "OpenAiCluster": object(&[
            ("type", constant("cluster")),
            ("gateway", nullable("string")),
            ("bus", nullable("object")),
            ("gateways", json!({ "type": "array", "items": cluster_gateway() })),
            ("workers", json!({ "type": "array", "items": cluster_worker() })),
        ]),
        "OpenAiConfigurationReload": object(&[
            ("type", constant("configuration_reload")),
            ("generation", json!({ "type": "integer" })),
            ("read_at", json!({ "type": "string", "format": "date-time" })),
            ("source", text()),
            ("changed", json!({ "type": "array", "items": text() })),
            ("changed_count", json!({ "type": "integer" })),
        ]),
    })
}

fn cluster_gateway() -> Value {
    let integer = json!({ "type": "integer" });
    object(&[
        ("id", text()),
        ("version", text()),
        ("state", member_state()),
        ("kept_runs", integer.clone()),
        ("leases", integer.clone()),
        ("seen_ms_ago", integer),
    ])
}

fn cluster_worker() -> Value {
    let integer = json!({ "type": "integer" });
    object(&[
        ("id", text()),
        ("version", text()),
        ("state", member_state()),
        ("grade", text()),
        ("running", integer.clone()),
        ("waiting", integer.clone()),
        ("slots", integer.clone()),
        ("free_disk_bytes", integer.clone()),
        ("seen_ms_ago", integer),
    ])
}

fn member_state() -> Value {
    json!({ "type": "string", "enum": ["ready", "draining", "lost"] })
}

fn key_fields() -> Vec<(&'static str, Value)> {
    let time = json!({ "type": "string", "format": "date-time" });
    let texts = json!({ "type": "array", "items": text() });
    vec![
        ("id", text()),
        ("type", constant("key")),
        ("tenant", text()),
        ("name", text()),
        ("prefix", text()),
        ("scopes", texts.clone()),
        ("models", texts),
        ("requests_per_minute", nullable("integer")),
        ("tokens_per_minute", nullable("integer")),
        ("budget", nullable("object")),
        ("auto", nullable("boolean")),
        ("state", json!({ "enum": ["valid", "expired", "revoked"] })),
        ("created_at", time),
        ("last_used_at", nullable("string")),
        ("expires_at", nullable("string")),
        ("revoked_at", nullable("string")),
        ("previous_secret_until", nullable("string")),
    ]
}

pub(super) fn new_key_body() -> Value {
    let mut fields = changeable_fields();
    let pattern = "^[a-z0-9_-]{1,64}$";
    let tenant = json!({ "type": ["string", "null"], "pattern": pattern });
    fields.insert("tenant".to_owned(), tenant);
    for name in ["scopes", "models"] {
        if let Some(field) = fields.get_mut(name) {
            *field = json!({ "anyOf": [field.clone(), { "type": "null" }] });
        }
    }
    body(&["name"], fields, true)
}

pub(super) fn key_change_body() -> Value {
    let mut fields = changeable_fields();
    for name in ["name", "scopes", "models"] {
        if let Some(field) = fields.get_mut(name) {
            *field = json!({ "anyOf": [field.clone(), { "type": "null" }] });
        }
    }
    body(&[], fields, true)
}

pub(super) fn key_rotation_body() -> Value {
    let seconds = json!({
        "type": "integer", "minimum": 0, "maximum": 2_592_000, "default": 0,
        "description": "How long the secret that the key had is still accepted",
    });
    let fields = Map::from_iter([("grace_seconds".to_owned(), seconds)]);
    body(&[], fields, false)
}

/// What a key has, and what may change.
fn changeable_fields() -> Map<String, Value> {
    let rate = |most: u64| json!({ "type": ["integer", "null"], "minimum": 1, "maximum": most });
    let pattern = json!({ "type": "string", "minLength": 1, "maxLength": 256 });
    let budget = json!({
        "type": ["object", "null"],
        "required": ["amount"],
        "properties": {
            "amount": { "type": "number", "minimum": 0, "maximum": 9e9 },
            "period": { "anyOf": [{ "enum": PERIODS }, { "type": "null" }] },
        },
        "additionalProperties": false,
    });
    let fields = [
        (
            "name",
            json!({ "type": "string", "minLength": 1, "maxLength": 200 }),
        ),
        (
            "scopes",
            json!({ "type": "array", "items": { "enum": SCOPES }, "minItems": 1 }),
        ),
        (
            "models",
            json!({ "type": "array", "items": pattern, "maxItems": 100 }),
        ),
        ("requests_per_minute", rate(u64::from(u32::MAX))),
        (
            "tokens_per_minute",
            json!({ "type": ["integer", "null"], "minimum": 1 }),
        ),
        ("budget", budget),
        ("expires_in_days", rate(36_500)),
        ("auto", nullable("boolean")),
    ];
    let owned = fields.map(|(name, schema)| (name.to_owned(), schema));
    Map::from_iter(owned)
}

pub(super) fn body(required: &[&str], properties: Map<String, Value>, is_required: bool) -> Value {
    let schema = json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    });
    json!({ "required": is_required, "content": { "application/json": { "schema": schema } } })
}

fn nullable(kind: &str) -> Value {
    json!({ "type": [kind, "null"] })
}

fn list(item: &str) -> Value {
    object(&[
        ("data", array(item)),
        ("has_more", json!({ "type": "boolean" })),
        ("next_page", nullable("string")),
    ])
}
