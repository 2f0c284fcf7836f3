//! Thinking settings that Chat clients have from gateways: `thinking` as Anthropic has it, and
//! OpenRouter's `reasoning`. Chat servers get them unchanged; for all other targets they are the
//! settings of a request in any dialect.

use serde_json::Value;

use crate::Dialect;
use crate::fields::as_whole_number;
use crate::neutral::{Map, Request, Thinking, ThinkingMode};

const THINKING: &str = "thinking";
const REASONING: &str = "reasoning";

/// Whether a request has such settings.
pub(super) fn has_settings(request: &Request) -> bool {
    request.origin == Dialect::Chat
        && [THINKING, REASONING]
            .iter()
            .any(|key| request.rest.get(*key).is_some_and(Value::is_object))
}

/// Reads them. What no other dialect has stays, to be reported.
pub(super) fn adapt(request: &mut Request) {
    if has_settings(request) {
        take(THINKING, request, read_thinking);
        take(REASONING, request, read_reasoning);
    }
}

fn take(key: &str, request: &mut Request, read: fn(&mut Map, &mut Request)) {
    let given = request.rest.get_mut(key).filter(|given| given.is_object());
    let Some(Value::Object(mut fields)) = given.map(Value::take) else {
        return;
    };
    read(&mut fields, request);
    if fields.is_empty() {
        request.rest.shift_remove(key);
    } else {
        request.rest.insert(key.to_owned(), Value::Object(fields));
    }
}

fn read_thinking(fields: &mut Map, request: &mut Request) {
    let budget = fields.get("budget_tokens").and_then(as_whole_number);
    let mode = match (fields.get("type").and_then(Value::as_str), budget) {
        (Some("enabled"), Some(budget_tokens)) => ThinkingMode::Enabled { budget_tokens },
        // Servers of other vendors than Anthropic have no budget.
        (Some("enabled" | "adaptive"), _) => ThinkingMode::Adaptive,
        (Some("disabled"), _) => ThinkingMode::Disabled,
        _ => return,
    };
    fields.shift_remove("type");
    fields.shift_remove("budget_tokens");
    let shown = fields.shift_remove_entry("display");
    request.thinking = Some(Thinking {
        mode,
        rest: Map::from_iter(shown),
    });
}

fn read_reasoning(fields: &mut Map, request: &mut Request) {
    if let Some(effort) = fields.get("effort").and_then(Value::as_str) {
        request.effort.get_or_insert_with(|| effort.to_owned());
        fields.shift_remove("effort");
    }
    if let Some(budget_tokens) = fields.get("max_tokens").and_then(as_whole_number) {
        set_mode(request, ThinkingMode::Enabled { budget_tokens });
        fields.shift_remove("max_tokens");
    }
    if let Some(is_on) = fields.get("enabled").and_then(Value::as_bool) {
        if !is_on {
            set_mode(request, ThinkingMode::Disabled);
        } else if request.effort.is_none() {
            set_mode(request, ThinkingMode::Adaptive);
        }
        fields.shift_remove("enabled");
    }
}

fn set_mode(request: &mut Request, mode: ThinkingMode) {
    let rest = Map::new();
    request.thinking.get_or_insert(Thinking { mode, rest });
}
