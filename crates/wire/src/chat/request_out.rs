//! A Chat Completions request, written for an OpenAI-like server.

use serde_json::{Value, json};

use super::gemini_settings::take_shared;
use super::message_out::write_messages;
use super::mistral_fields::keep_mistral_fields;
use super::tools::{with_supported_tools, write_choice, write_tools};
use crate::Dialect;
use crate::context::{EncodedRequest, ReadContext, WriteOptions};
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::json_path::JsonPath;
use crate::model_text;
use crate::neutral::{Map, Request, ResponseFormat, ThinkingMode};
use crate::openai::{
    SHARED_FIELDS, disables_thinking, effort_for_request, effort_source, is_strict_schema,
    user_for_request,
};
use crate::sampling::sampling_params;
use crate::stop_sequences::{DividedStops, divide_stops};

pub(crate) fn write_request(
    request: &Request,
    options: &WriteOptions,
) -> Result<EncodedRequest, WireError> {
    let supported = with_supported_tools(request, options);
    let request = supported.as_ref();
    let mut drops = Drops::for_request(request);
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    let mut messages = write_messages(request, options, &mut drops)?;
    if let (false, Some(ResponseFormat::JsonSchema { schema, .. })) =
        (options.response_schemas, &request.format)
    {
        instruct_schema(&mut messages, schema);
        drops.add(
            "output_config.format",
            "the model is instructed to follow the schema",
        );
    }
    body.insert("messages".to_owned(), messages.into());
    let tools = write_tools(request, options, &mut drops);
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
        put(&mut body, "tool_choice", write_choice(request)?);
        put(
            &mut body,
            "parallel_tool_calls",
            request.parallel_tool_calls,
        );
    }
    write_settings(request, options, &mut body, &mut drops)?;
    write_rest(request, options, &mut body, &mut drops);
    if options.capabilities.no_penalties {
        drop_penalties(&mut body, &mut drops);
    }
    drop_refused_fields(request, options, &mut body, &mut drops);
    if options.mistral_fields {
        keep_mistral_fields(request, &mut body, &mut drops);
    }
    let context = ReadContext {
        server: options.server.clone(),
        stop_sequences: stops(request, options).filtered,
        ..ReadContext::for_request(request)
    };
    Ok(EncodedRequest {
        body: Value::Object(body),
        dropped: drops.into_vec(),
        context,
    })
}

/// The most stop sequences that OpenAI and most compatible servers accept.
const MAX_STOPS: usize = 4;

fn stops(request: &Request, options: &WriteOptions) -> DividedStops {
    let most = match request.origin {
        _ if options.capabilities.no_stop => 0,
        Dialect::Chat => usize::MAX,
        _ => MAX_STOPS,
    };
    divide_stops(&request.stop_sequences, most, |_| true)
}

fn write_settings(
    request: &Request,
    options: &WriteOptions,
    body: &mut Map,
    drops: &mut Drops,
) -> Result<(), WireError> {
    let limit = if options.legacy_max_tokens {
        "max_tokens"
    } else {
        "max_completion_tokens"
    };
    put(body, limit, request.max_tokens);
    if request.stream {
        body.insert("stream".to_owned(), true.into());
    }
    let stops = stops(request, options).sent;
    if !stops.is_empty() {
        body.insert("stop".to_owned(), stops.into());
    }
    let sampled = sampling_params(request, options, drops);
    put(body, "temperature", sampled.temperature);
    put(body, "top_p", sampled.top_p);
    match sampled.top_k {
        Some(top_k) if request.origin == Dialect::Chat => put(body, "top_k", Some(top_k)),
        Some(_) => drops.add("top_k", "Chat Completions has no top_k"),
        None => {}
    }
    write_reasoning(request, options, body, drops);
    put(body, "response_format", write_format(request, options)?);
    put(body, "user", user_for_request(request));
    for (key, there) in [
        ("cache_control", request.cache_control.is_some()),
        ("container", request.container.is_some()),
    ] {
        if there {
            drops.add(key, "not supported by Chat Completions");
        }
    }
    Ok(())
}

/// How hard the model is to think.
fn write_reasoning(request: &Request, options: &WriteOptions, body: &mut Map, drops: &mut Drops) {
    if options.thinking_switch && (disables_thinking(request) || request.forces_tool()) {
        // Their vendors refuse a forced call while the model thinks, as it does by default.
        if request.forces_tool() && !disables_thinking(request) {
            for field in ["thinking", "output_config.effort"] {
                drops.add(field, "the model does not think where a tool is forced");
            }
        }
        body.insert("thinking".to_owned(), json!({"type": "disabled"}));
        return;
    }
    put(
        body,
        "reasoning_effort",
        effort_for_request(request, options, drops),
    );
    let mode = request.thinking.as_ref().map(|thinking| &thinking.mode);
    // Gemini clients request adaptive thinking explicitly, others by omission.
    if request.origin != Dialect::Gemini
        && let (None, Some(ThinkingMode::Adaptive | ThinkingMode::Other(_))) =
            (&request.effort, mode)
    {
        let why = "Chat Completions accepts an effort only; the model decides how much to think";
        drops.add("thinking", why);
    }
}

/// Adds instructions after all that come before the conversation.
fn instruct_schema(messages: &mut Vec<Value>, schema: &Value) {
    let is_system = |message: &Value| message.get("role").is_some_and(|role| role == "system");
    let at = messages
        .iter()
        .take_while(|message| is_system(message))
        .count();
    let text = model_text::json_schema(schema);
    messages.insert(at, json!({"role": "system", "content": text}));
}

fn write_format(request: &Request, options: &WriteOptions) -> Result<Option<Value>, WireError> {
    Ok(match &request.format {
        None => None,
        Some(ResponseFormat::JsonObject) => Some(json!({"type": "json_object"})),
        Some(ResponseFormat::JsonSchema { .. }) if !options.response_schemas => {
            Some(json!({"type": "json_object"}))
        }
        Some(ResponseFormat::JsonSchema { .. }) => Some(json!({
            "type": "json_schema",
            "json_schema": request.format.as_ref().map(write_schema),
        })),
        Some(ResponseFormat::Other(map)) if request.origin == Dialect::Chat => {
            Some(Value::Object(map.clone()))
        }
        Some(ResponseFormat::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Chat,
                "output_config.format",
                "Chat Completions does not support this output format: use a JSON schema",
            ));
        }
    })
}

/// Name, description, schema and strictness. A name is required; Anthropic's format has
/// none and is always strict, and is strict here if OpenAI accepts its schema.
pub(crate) fn write_schema(format: &ResponseFormat) -> Map {
    let mut map = Map::new();
    if let ResponseFormat::JsonSchema {
        schema,
        name,
        description,
        strict,
    } = format
    {
        map.insert(
            "name".to_owned(),
            name.as_deref().unwrap_or("answer").into(),
        );
        put(&mut map, "description", description.clone());
        put(
            &mut map,
            "strict",
            strict.or(name.is_none().then(|| is_strict_schema(schema))),
        );
        map.insert("schema".to_owned(), schema.clone());
    }
    map
}

fn write_rest(request: &Request, options: &WriteOptions, body: &mut Map, drops: &mut Drops) {
    let is_accepted = |key: &str| {
        // Mistral has it too.
        options.openai_fields || (options.mistral_fields && key == "prompt_cache_key")
    };
    let is_stored = request.rest.get("store") == Some(&Value::Bool(true));
    match request.origin {
        Dialect::Chat => body.extend(request.rest.clone()),
        Dialect::Responses => {
            for (key, value) in &request.rest {
                match (key.as_str(), value) {
                    // OpenAI refuses the first without `logprobs`, which is a setting of Chat's
                    // alone, and the other unless it stores the response.
                    ("top_logprobs", _) => drops.rest(&JsonPath::Root, &one(key, value)),
                    ("metadata", _) if !is_stored => {
                        drops.rest(&JsonPath::Root, &one(key, value));
                    }
                    // The same setting is one level higher here.
                    ("text", Value::Object(text)) => {
                        let mut text = text.clone();
                        if is_accepted("verbosity") {
                            put(body, "verbosity", text.shift_remove("verbosity"));
                        }
                        drops.rest(&JsonPath::Root.key("text"), &text);
                    }
                    (key, _) if SHARED_FIELDS.contains(&key) && is_accepted(key) => {
                        body.insert(key.to_owned(), value.clone());
                    }
                    // This server stores the response itself.
                    ("store", _) => {}
                    _ => drops.rest(&JsonPath::Root, &one(key, value)),
                }
            }
        }
        Dialect::Gemini => drops.rest(&JsonPath::Root, &take_shared(&request.rest, body)),
        _ => drops.rest(&JsonPath::Root, &request.rest),
    }
    if request.stream {
        // Without it there would be no usage to report.
        let options = body
            .entry("stream_options")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(options) = options.as_object_mut() {
            options.insert("include_usage".to_owned(), true.into());
        }
    }
}

/// Drops the fields that the server refuses. Those of a Chat client stay: it gets the server's
/// error.
fn drop_refused_fields(
    request: &Request,
    options: &WriteOptions,
    body: &mut Map,
    drops: &mut Drops,
) {
    for key in options.refused_fields {
        // Added here.
        let is_own = *key == "stream_options";
        if !is_own && request.origin == Dialect::Chat {
            continue;
        }
        let Some(value) = body.shift_remove(*key) else {
            continue;
        };
        let field = match *key {
            "parallel_tool_calls" => "tool_choice.disable_parallel_tool_use",
            "reasoning_effort" => effort_source(request),
            key => key,
        };
        // Calls in parallel are what these servers do anyway.
        if !is_own && value != Value::Bool(true) {
            drops.add(field, "the server refuses requests with this field");
        }
    }
}

/// Drops penalties, which reasoning models refuse.
fn drop_penalties(body: &mut Map, drops: &mut Drops) {
    for key in ["frequency_penalty", "presence_penalty"] {
        let is_set = |value: &Value| value.as_f64() != Some(0.0) && !value.is_null();
        if body.shift_remove(key).is_some_and(|value| is_set(&value)) {
            drops.add(key, "the model does not support penalties");
        }
    }
}

fn one(key: &str, value: &Value) -> Map {
    Map::from_iter([(key.to_owned(), value.clone())])
}
