//! A Responses request, written for an OpenAI model.

use serde_json::{Value, json};

use super::item_out::write_items;
use super::tools::{write_choice, write_tools};
use crate::Dialect;
use crate::chat::write_schema;
use crate::context::{EncodedRequest, ReadContext, WriteOptions};
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::json_path::{JsonPath, SYSTEM};
use crate::neutral::{Map, Request, ResponseFormat, ThinkingMode};
use crate::openai::{SHARED_FIELDS, does_not_reason, effort_for_request, user_for_request};
use crate::plain_text::system_texts;
use crate::sampling::sampling_params;

/// The least limit that OpenAI accepts in this dialect.
const MIN_OUTPUT_TOKENS: u64 = 16;

pub(crate) fn write_request(
    request: &Request,
    options: &WriteOptions,
) -> Result<EncodedRequest, WireError> {
    let mut drops = Drops::for_request(request);
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    write_instructions(request, &mut body, &mut drops);
    let items = write_items(request, options, &mut drops)?;
    body.insert("input".to_owned(), items.into());
    let tools = write_tools(request, &mut drops);
    // Tools may also come with the items.
    let own = request.origin == Dialect::Responses;
    if !tools.is_empty() || (own && !request.tools.is_empty()) {
        if !tools.is_empty() {
            body.insert("tools".to_owned(), tools.into());
        }
        put(&mut body, "tool_choice", write_choice(request)?);
        put(
            &mut body,
            "parallel_tool_calls",
            request.parallel_tool_calls,
        );
    }
    write_settings(request, options, &mut body, &mut drops)?;
    write_rest(request, options, &mut body, &mut drops);
    // This dialect has no stop sequences: whoever reads the response looks for them.
    let context = ReadContext {
        stop_sequences: request.stop_sequences.clone(),
        ..ReadContext::for_request(request)
    };
    Ok(EncodedRequest {
        body: Value::Object(body),
        dropped: drops.into_vec(),
        context,
    })
}

fn write_instructions(request: &Request, body: &mut Map, drops: &mut Drops) {
    for (i, block) in request.system.iter().enumerate() {
        if block.cache_control.is_some() {
            let path = SYSTEM.block(i, block);
            drops.add(
                path.key("cache_control"),
                "the server caches prompts by itself",
            );
        }
    }
    let texts = system_texts(&request.system, drops);
    if !texts.is_empty() {
        body.insert("instructions".to_owned(), texts.join("\n\n").into());
    }
}

fn write_settings(
    request: &Request,
    options: &WriteOptions,
    body: &mut Map,
    drops: &mut Drops,
) -> Result<(), WireError> {
    // Clients of other dialects may set any limit, such as one token to try a model.
    let least = match request.origin {
        Dialect::Responses => 0,
        _ => MIN_OUTPUT_TOKENS,
    };
    let limit = request.max_tokens.map(|limit| limit.max(least));
    put(body, "max_output_tokens", limit);
    if request.stream {
        body.insert("stream".to_owned(), true.into());
    }
    let sampled = sampling_params(request, options, drops);
    put(body, "temperature", sampled.temperature);
    put(body, "top_p", sampled.top_p);
    if sampled.top_k.is_some() {
        drops.add("top_k", "Responses has no top_k");
    }
    let reasoning = write_reasoning(request, options, drops);
    put(body, "reasoning", reasoning);
    let format = write_format(request)?;
    put(body, "text", format.map(|format| json!({"format": format})));
    put(body, "user", user_for_request(request));
    for (key, there) in [
        ("cache_control", request.cache_control.is_some()),
        ("container", request.container.is_some()),
    ] {
        if there {
            drops.add(key, "not supported by Responses");
        }
    }
    Ok(())
}

/// Effort, and a summary when the client requests thoughts.
fn write_reasoning(request: &Request, options: &WriteOptions, drops: &mut Drops) -> Option<Value> {
    let mut map = Map::new();
    put(
        &mut map,
        "effort",
        effort_for_request(request, options, drops),
    );
    let mode = request.thinking.as_ref().map(|thinking| &thinking.mode);
    if let Some(ThinkingMode::Enabled { .. } | ThinkingMode::Adaptive) = mode {
        if !does_not_reason(options) {
            map.insert("summary".to_owned(), "auto".into());
        } else if request.effort.is_some() || mode == Some(&ThinkingMode::Adaptive) {
            // A budget alone is named with the effort that it would have become.
            drops.add("thinking", "the model does not support thinking");
        }
    }
    (!map.is_empty()).then_some(Value::Object(map))
}

pub(super) fn write_format(request: &Request) -> Result<Option<Value>, WireError> {
    Ok(match &request.format {
        None => None,
        Some(ResponseFormat::JsonObject) => Some(json!({"type": "json_object"})),
        Some(format @ ResponseFormat::JsonSchema { .. }) => {
            let mut map = Map::from_iter([("type".to_owned(), "json_schema".into())]);
            map.extend(write_schema(format));
            Some(Value::Object(map))
        }
        Some(ResponseFormat::Other(map)) if request.origin == Dialect::Responses => {
            Some(Value::Object(map.clone()))
        }
        Some(ResponseFormat::Other(_)) => {
            return Err(WireError::unsupported(
                Dialect::Responses,
                "output_config.format",
                "Responses does not support this output format: use a JSON schema",
            ));
        }
    })
}

fn write_rest(request: &Request, options: &WriteOptions, body: &mut Map, drops: &mut Drops) {
    match request.origin {
        Dialect::Responses => {
            for (key, value) in &request.rest {
                match (body.get_mut(key), value) {
                    (Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
                    _ => {
                        body.insert(key.clone(), value.clone());
                    }
                }
            }
            return;
        }
        Dialect::Chat => {
            for (key, value) in &request.rest {
                match key.as_str() {
                    // For the stream to a Chat client; not sent upstream.
                    "stream_options" => {}
                    // The same setting is one level lower here.
                    "verbosity" => {
                        let text = body.entry("text").or_insert_with(|| json!({}));
                        if let Some(text) = text.as_object_mut() {
                            text.insert("verbosity".to_owned(), value.clone());
                        }
                    }
                    key if SHARED_FIELDS.contains(&key) => put(body, key, Some(value.clone())),
                    key => drops.add(key, "not supported by Responses"),
                }
            }
        }
        _ => drops.rest(&JsonPath::Root, &request.rest),
    }
    // The client holds the conversation, so nothing need be stored; its reasoning must
    // come back to us to be sent again. Many models reason by default.
    body.entry("store").or_insert(Value::Bool(false));
    if body.contains_key("reasoning") || options.capabilities.encrypted_reasoning {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
}
