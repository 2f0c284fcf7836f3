//! OpenAI's explicit cache breakpoints and Anthropic's `cache_control`.

use serde_json::{Value, json};

/// `prompt_cache_breakpoint` of a content part as `cache_control`: the nearest time.
pub(crate) fn read_breakpoint(value: &Value) -> Value {
    match value.get("ttl").and_then(Value::as_str) {
        Some("12h") => json!({"type": "ephemeral", "ttl": "1h"}),
        _ => json!({"type": "ephemeral"}),
    }
}

/// The other way round.
pub(crate) fn write_breakpoint(cache_control: &Value) -> Value {
    let ttl = match cache_control.get("ttl").and_then(Value::as_str) {
        Some("1h") => "12h",
        _ => "30m",
    };
    json!({"mode": "explicit", "ttl": ttl})
}
