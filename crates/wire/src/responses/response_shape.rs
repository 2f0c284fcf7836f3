//! The fields of a Response object, the same in each of its states.

use serde_json::{Value, json};

use crate::context::ReplyContext;
use crate::neutral::{ApiError, Map};
use crate::openai::write_failure;

/// Values of settings that are not in the request.
const DEFAULTS: [(&str, Value); 13] = [
    ("background", Value::Bool(false)),
    ("completed_at", Value::Null),
    ("instructions", Value::Null),
    ("max_output_tokens", Value::Null),
    ("max_tool_calls", Value::Null),
    ("parallel_tool_calls", Value::Bool(true)),
    ("previous_response_id", Value::Null),
    ("prompt_cache_key", Value::Null),
    ("safety_identifier", Value::Null),
    ("store", Value::Bool(true)),
    ("usage", Value::Null),
    ("user", Value::Null),
    ("error", Value::Null),
];

/// The same, of those that are no constants in Rust.
fn more_defaults() -> [(&'static str, Value); 13] {
    [
        ("frequency_penalty", json!(0)),
        ("metadata", json!({})),
        ("output", json!([])),
        ("presence_penalty", json!(0)),
        ("reasoning", json!({"effort": null, "summary": null})),
        ("service_tier", json!("default")),
        ("temperature", json!(1)),
        ("text", json!({"format": {"type": "text"}})),
        ("tool_choice", json!("auto")),
        ("tools", json!([])),
        ("top_logprobs", json!(0)),
        ("top_p", json!(1)),
        ("truncation", json!("disabled")),
    ]
}

/// The fields of every state of a response: the request's settings, else the defaults.
pub(super) fn response_fields(id: &str, model: &str, context: &ReplyContext) -> Map {
    let mut map = Map::new();
    map.insert("id".to_owned(), id.into());
    map.insert("object".to_owned(), "response".into());
    map.insert("created_at".to_owned(), context.created.into());
    map.insert("status".to_owned(), "in_progress".into());
    map.insert("incomplete_details".to_owned(), Value::Null);
    map.insert("model".to_owned(), model.into());
    for (key, value) in DEFAULTS.into_iter().chain(more_defaults()) {
        map.insert(key.to_owned(), value);
    }
    map.extend(context.echo.clone());
    map
}

/// The status of a response that is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseStatus {
    /// It has not started.
    Queued,
    /// The model responds.
    InProgress,
    /// It was cancelled.
    Cancelled,
    /// It failed.
    Failed,
}

/// The object of a response that is not complete, for a client of the Responses API.
pub fn unfinished_response(
    model: &str,
    context: &ReplyContext,
    status: ResponseStatus,
    error: Option<&ApiError>,
) -> Value {
    let id = context.id_for("", "resp_");
    let mut response = response_fields(&id, context.model_or(model), context);
    let name = match status {
        ResponseStatus::Queued => "queued",
        ResponseStatus::InProgress => "in_progress",
        ResponseStatus::Cancelled => "cancelled",
        ResponseStatus::Failed => "failed",
    };
    response.insert("status".to_owned(), name.into());
    if let (ResponseStatus::Failed, Some(error)) = (status, error) {
        response.insert("error".to_owned(), write_failure(error));
    }
    Value::Object(response)
}

/// Sets how a response ended; only one that is complete has a time of completion.
pub(super) fn set_status(
    response: &mut Map,
    status: &'static str,
    incomplete_details: Value,
    completed_at: u64,
) {
    response.insert("status".to_owned(), status.into());
    response.insert("incomplete_details".to_owned(), incomplete_details);
    if status == "completed" {
        response.insert("completed_at".to_owned(), completed_at.into());
    }
}

/// Adds fields of the provider's own response. Its echo of the request is left out: it
/// contains tools and instructions added by Prowess.
pub(super) fn add_provider_fields(response: &mut Map, own: &Map) {
    for (key, value) in own {
        let is_tier = key == "service_tier" && !value.is_null();
        if is_tier || !response.contains_key(key) {
            response.insert(key.clone(), value.clone());
        }
    }
}

/// The fields of a provider's response that this server does not write itself.
pub(super) fn provider_fields(response: &Value) -> Map {
    let known = response_fields("", "", &ReplyContext::default());
    let fields = response.as_object().into_iter().flatten();
    let own = fields.filter(|(key, value)| {
        !value.is_null() && (*key == "service_tier" || !known.contains_key(*key))
    });
    own.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
