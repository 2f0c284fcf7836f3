//! A generateContent request, written.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::code_execution;
use super::request_part_out::{GeminiPartWriter, GeminiTurnParts};
use super::settings_out::{stops, unknown_fields, write_settings};
use super::tools_out::{server_tools, write_choice, write_tools};
use crate::Dialect;
use crate::chat::PLACEHOLDER_SIGNATURE;
use crate::context::{EncodedRequest, ReadContext, WriteOptions};
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::json_path::{JsonPath, MESSAGES, SYSTEM};
use crate::neutral::{
    Block, Content, Map, MergedTurn, Message, Request, Role, expand_server_calls_except,
    merge_turns, push_turn,
};
use crate::plain_text::system_texts;

pub(crate) fn write_request(
    request: &Request,
    options: &WriteOptions,
) -> Result<EncodedRequest, WireError> {
    let mut drops = Drops::for_request(request);
    let mut body = Map::new();
    put(
        &mut body,
        "systemInstruction",
        write_system(request, &mut drops),
    );
    let contents = write_contents(request, options, &mut drops)?;
    body.insert("contents".to_owned(), contents.into());
    let functions = write_tools(request, &mut drops);
    let mut tools = server_tools(request);
    let choice = if functions.is_empty() {
        None
    } else {
        tools.insert(0, json!({"functionDeclarations": functions}));
        write_choice(request)?
    };
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
        put(&mut body, "toolConfig", choice);
    }
    if request.parallel_tool_calls == Some(false) {
        drops.add(
            "tool_choice.disable_parallel_tool_use",
            "Gemini cannot disable parallel tool calls",
        );
    }
    write_settings(request, options, &mut body, &mut drops)?;
    if request.origin == Dialect::Gemini {
        restore_fields(&mut body, &request.rest);
    } else {
        drops.rest(&JsonPath::Root, &unknown_fields(request));
    }
    Ok(EncodedRequest {
        body: Value::Object(body),
        dropped: drops.into_vec(),
        context: ReadContext {
            stop_sequences: stops(request).filtered,
            ..ReadContext::for_request(request)
        },
    })
}

/// Puts back what only Gemini understands, settings among the settings.
fn restore_fields(body: &mut Map, rest: &Map) {
    for (key, value) in rest {
        match (body.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => restore_fields(known, more),
            (Some(_), _) => {}
            (None, _) => {
                body.insert(key.clone(), value.clone());
            }
        }
    }
}

fn write_system(request: &Request, drops: &mut Drops) -> Option<Value> {
    for (i, block) in request.system.iter().enumerate() {
        if block.cache_control.is_some() {
            let path = SYSTEM.block(i, block);
            drops.add(path.key("cache_control"), "Gemini caches prompts by itself");
        }
    }
    let texts = system_texts(&request.system, drops);
    let parts: Vec<_> = texts.iter().map(|text| json!({"text": text})).collect();
    (!parts.is_empty()).then(|| json!({"parts": parts}))
}

fn write_contents(
    request: &Request,
    options: &WriteOptions,
    drops: &mut Drops,
) -> Result<Vec<Value>, WireError> {
    let own = request.origin == Dialect::Gemini;
    // Code that Google's servers ran goes back to them unchanged, also from a Messages client.
    let has_googles = own || request.origin == Dialect::Messages;
    let kept = |id: &str| has_googles && code_execution::is_from_google(id);
    let messages = expand_server_calls_except(&request.messages, &kept, drops);
    for (i, message) in messages.iter().enumerate() {
        drops.rest(&MESSAGES.message(i, message), &message.rest);
    }
    let names = call_names(&messages);
    let mut out = Vec::new();
    for turn in merge_turns(&messages, true) {
        let mut parts = GeminiPartWriter {
            own,
            names: &names,
            drops,
            signature: None,
            stand_in: options.unsigned_calls.then_some(PLACEHOLDER_SIGNATURE),
            // A Gemini client knows what its model accepts; for all others the media follow.
            media_in_results: options.capabilities.media_in_results.unwrap_or(own),
            results: Vec::new(),
            out: Vec::new(),
        };
        for (m, b, block) in ordered(&turn) {
            let path = MESSAGES.index(m);
            let path = path.key("content");
            let is_system = messages.get(m).is_some_and(|m| m.role == Role::System);
            parts.write(block, is_system, &path.block(b, block))?;
        }
        let parts = parts.finish();
        let role = match turn.role {
            Role::Assistant => "model",
            Role::User | Role::System => "user",
        };
        push_contents(&mut out, role, parts);
    }
    Ok(out)
}

/// Adds a turn. Results are a content of their own: models refuse one that contains other
/// parts as well, be it with media or, from Gemini 3.6 on, with text. Another content of the
/// user may follow it.
fn push_contents(out: &mut Vec<Value>, role: &str, parts: GeminiTurnParts) {
    let GeminiTurnParts { results, others } = parts;
    if !results.is_empty() {
        out.push(json!({"role": role, "parts": results}));
    } else if role != "user" || !out.last().is_some_and(has_results) {
        return push_turn(out, role, "parts", others);
    }
    if !others.is_empty() {
        out.push(json!({"role": role, "parts": others}));
    }
}

fn has_results(content: &Value) -> bool {
    let parts = content.get("parts").and_then(Value::as_array);
    let mut parts = parts.into_iter().flatten();
    parts.any(|part| part.get("functionResponse").is_some())
}

/// Results come first in a user's turn.
fn ordered<'t, 'a>(
    turn: &'t MergedTurn<'a>,
) -> impl Iterator<Item = (usize, usize, &'a Block)> + use<'t, 'a> {
    let is_result = |block: &Block| matches!(block.content, Content::ToolResult { .. });
    let results = turn.blocks.iter().filter(move |(_, _, b)| is_result(b));
    let others = turn.blocks.iter().filter(move |(_, _, b)| !is_result(b));
    results.chain(others).copied()
}

/// A result names its tool here; only the call has the name.
fn call_names(messages: &[Message]) -> HashMap<&str, &str> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    blocks
        .filter_map(|block| match &block.content {
            Content::ToolUse { id, name, .. } => Some((id.as_str(), name.as_str())),
            _ => None,
        })
        .collect()
}
