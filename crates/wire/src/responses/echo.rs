//! The settings of a request that a Responses response repeats.

use serde_json::{Value, json};

use super::request_out::write_format;
use super::tools::{write_choice, write_tools};
use crate::drops::Drops;
use crate::neutral::{Block, Map, Request};

/// What the official SDKs require in every response, and what clients look for there.
pub(crate) fn echoed_settings(request: &Request) -> Map {
    let setting = |key: &str| {
        request
            .rest
            .get(key)
            .filter(|value| !value.is_null())
            .cloned()
    };
    let given = |key: &str| setting(key).unwrap_or(Value::Null);
    // What is dropped for the model is still echoed to the client.
    let mut unused = Drops::default();
    let choice = write_choice(request).ok().flatten();
    let format = write_format(request).ok().flatten();
    let mut system = request.system.iter();
    let instructions = system.find(|block| is_instructions(block));
    let instructions = instructions.and_then(|block| block.as_text());
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
        "background": setting("background").unwrap_or(Value::Bool(false)),
        "frequency_penalty": setting("frequency_penalty").unwrap_or_else(|| json!(0)),
        "instructions": instructions,
        "max_output_tokens": request.max_tokens,
        "max_tool_calls": given("max_tool_calls"),
        "metadata": setting("metadata").unwrap_or_else(|| json!({})),
        "parallel_tool_calls": request.parallel_tool_calls.unwrap_or(true),
        "presence_penalty": setting("presence_penalty").unwrap_or_else(|| json!(0)),
        "previous_response_id": given("previous_response_id"),
        "prompt_cache_key": given("prompt_cache_key"),
        "reasoning": reasoning,
        "safety_identifier": given("safety_identifier"),
        "service_tier": setting("service_tier").unwrap_or_else(|| "default".into()),
        "store": setting("store").unwrap_or(Value::Bool(true)),
        "temperature": request.temperature.clone().map_or(json!(1), Value::Number),
        "text": text,
        "tool_choice": choice.unwrap_or_else(|| "auto".into()),
        "tools": echoed_tools(write_tools(request, &mut unused)),
        "top_logprobs": setting("top_logprobs").unwrap_or_else(|| json!(0)),
        "top_p": request.top_p.clone().map_or(json!(1), Value::Number),
        "truncation": setting("truncation").unwrap_or_else(|| "disabled".into()),
        "user": request.user,
    });
    match echo {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Whether a text of the system prompt is the client's `instructions`. Messages of the developer
/// before the conversation are in the prompt too.
fn is_instructions(block: &Block) -> bool {
    let path = block.client_path.get();
    path.is_none_or(|(_, path)| path == "instructions")
}

/// The tools as a response echoes them: a function has all its fields, and is strict unless
/// the request has another value. Responses are stored and logged in many places; secrets
/// for a container's code are not echoed.
fn echoed_tools(mut tools: Vec<Value>) -> Vec<Value> {
    for tool in &mut tools {
        if let Some(map) = tool.as_object_mut()
            && map.get("type").and_then(Value::as_str) == Some("function")
        {
            map.entry("description").or_insert(Value::Null);
            map.entry("parameters").or_insert(Value::Null);
            map.entry("strict").or_insert(Value::Bool(true));
        }
        let policy = tool.pointer_mut("/environment/network_policy");
        if let Some(Value::Object(policy)) = policy {
            policy.shift_remove("domain_secrets");
        }
    }
    tools
}
