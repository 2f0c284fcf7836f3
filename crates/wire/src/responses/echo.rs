//! The settings of a request that a Responses answer repeats.

use serde_json::{Value, json};

use super::request_out::write_format;
use super::tools::{write_choice, write_tools};
use crate::drops::Drops;
use crate::neutral::{Map, Request};

/// What the official SDKs require in every answer, and what clients look for there.
pub(crate) fn echo(request: &Request) -> Map {
    let given = |key: &str| request.rest.get(key).cloned().unwrap_or(Value::Null);
    // What cannot be told to a model can still be told to the client that said it.
    let mut unused = Drops::default();
    let choice = write_choice(request).ok().flatten();
    let format = write_format(request).ok().flatten();
    let instructions = request.system.first().and_then(|block| block.as_text());
    let mut text = given("text");
    if !text.is_object() {
        text = json!({});
    }
    if let Some(map) = text.as_object_mut() {
        let format = format.unwrap_or_else(|| json!({"type": "text"}));
        map.insert("format".to_owned(), format);
    }
    let mut reasoning = json!({"effort": request.effort, "summary": null});
    if let (Some(map), Some(Value::Object(more))) =
        (reasoning.as_object_mut(), request.rest.get("reasoning"))
    {
        map.extend(more.clone());
    }
    let echo = json!({
        "instructions": instructions,
        "max_output_tokens": request.max_tokens,
        "metadata": request.rest.get("metadata").cloned().unwrap_or_else(|| json!({})),
        "parallel_tool_calls": request.parallel_tool_calls.unwrap_or(true),
        "previous_response_id": given("previous_response_id"),
        "reasoning": reasoning,
        "store": request.rest.get("store").cloned().unwrap_or(Value::Bool(true)),
        "temperature": request.temperature,
        "text": text,
        "tool_choice": choice.unwrap_or_else(|| "auto".into()),
        "tools": without_secrets(write_tools(request, &mut unused)),
        "top_p": request.top_p,
        "truncation": request.rest.get("truncation").cloned().unwrap_or_else(|| "disabled".into()),
        "user": request.user,
    });
    match echo {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Answers are kept and logged by many hands; secrets for a container's code are not
/// said again.
fn without_secrets(mut tools: Vec<Value>) -> Vec<Value> {
    for tool in &mut tools {
        let policy = tool.pointer_mut("/environment/network_policy");
        if let Some(Value::Object(policy)) = policy {
            policy.shift_remove("domain_secrets");
        }
    }
    tools
}
