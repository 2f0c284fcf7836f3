//! Reads a Chat Completions response.

use serde_json::{Value, json};

use super::USAGE_FIELDS;
use super::content_in::{ChatContentPart, read_content_parts, take_images};
use super::finish::stop_reason;
use super::message_in::{read_call, read_thought};
use super::{extra_content, google_thoughts, reasoning_in};
use crate::Dialect;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::JsonFields;
use crate::json_path::JsonPath;
use crate::neutral::{ApiError, Block, Content, Response, refusal_details};
use crate::openai::{mark_refusal, read_error_value, read_usage, service_tier};
use crate::tool_names::generated_call_id;

pub(crate) fn read_response(body: Value, context: &ReadContext) -> Result<Response, WireError> {
    let root = JsonPath::Root;
    let mut fields = JsonFields::from_value(body, &root)?;
    let id = non_empty(fields.opt_string("id")?).unwrap_or_else(|| context.id.clone());
    let model = non_empty(fields.opt_string("model")?).unwrap_or_else(|| context.model.clone());
    let mut response = Response::new(Dialect::Chat, id, model);
    let answered = fields.peek("choices").and_then(Value::as_array);
    let answered = answered.is_some_and(|choices| !choices.is_empty());
    if let (false, Some(error)) = (answered, failure(fields.peek("error"))) {
        return Err(WireError::UpstreamFailed(Box::new(error)));
    }
    if let Some(usage) = fields.take("usage") {
        response.usage = read_usage(usage, &root.key("usage"), &USAGE_FIELDS)?;
    }
    response
        .usage
        .set_tier(service_tier(fields.peek("service_tier")));
    let choices = fields.list("choices")?;
    let path = root.key("choices");
    let path = &path.index(0);
    let choice = choices
        .into_iter()
        .next()
        .ok_or_else(|| WireError::Missing {
            field: path.to_string(),
        })?;
    let mut choice = JsonFields::from_value(choice, path)?;
    if let Some(error) = failure(choice.peek("error")) {
        return Err(WireError::UpstreamFailed(Box::new(error)));
    }
    let reason = choice.opt_string("finish_reason")?;
    match (choice.take("message"), &reason) {
        (Some(message), _) => {
            read_message(message, &path.key("message"), context, &mut response)?;
        }
        // Azure's filter leaves nothing of the message.
        (None, Some(_)) => {}
        (None, None) => {
            return Err(WireError::Missing {
                field: path.key("message").to_string(),
            });
        }
    }
    let calls = response
        .content
        .iter()
        .any(|block| matches!(block.content, Content::ToolUse { .. }));
    let refused = response.stop_details.is_some();
    let stop = stop_reason(reason.as_deref(), calls, refused);
    response.stop_reason = Some(stop.map_err(|error| WireError::UpstreamFailed(Box::new(error)))?);
    choice.take("index");
    response.choice_rest = choice.rest();
    response.choice_rest.retain(|_, value| !value.is_null());
    for written_anew in ["object", "created"] {
        fields.take(written_anew);
    }
    response.rest = fields.rest();
    Ok(response)
}

/// The error that a server or gateway sends instead of a response, next to its choices or
/// inside one.
pub(super) fn failure(error: Option<&Value>) -> Option<ApiError> {
    let error = error?;
    let error_value = match error {
        Value::Object(map) => !map.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => false,
    };
    error_value.then(|| read_error_value(None, error))
}

fn read_message(
    value: Value,
    path: &JsonPath<'_>,
    context: &ReadContext,
    response: &mut Response,
) -> Result<(), WireError> {
    let mut fields = JsonFields::from_value(value, path)?;
    let mut calls = fields.opt_list("tool_calls")?.unwrap_or_default();
    if calls.is_empty() {
        calls.extend(former_call(&mut fields));
    }
    for (i, call) in calls.iter_mut().enumerate() {
        ensure_id(call, &response.id, i);
    }
    read_thoughts(&mut fields, &calls, context, response)?;
    let mut begins_with_thought = google_thoughts::take_mark(&mut fields);
    for part in read_content_parts(fields.take("content")) {
        match part {
            ChatContentPart::Text(text) if text.is_empty() => {}
            ChatContentPart::Text(text) if std::mem::take(&mut begins_with_thought) => {
                let (before, answer) = google_thoughts::split(&text);
                if !before.is_empty() {
                    response.content.push(thought(before.to_owned()));
                }
                if !answer.is_empty() {
                    response.content.push(Block::text(answer));
                }
            }
            ChatContentPart::Text(text) => response.content.push(Block::text(text)),
            ChatContentPart::Thought(text) => response.content.push(thought(text)),
            ChatContentPart::Image(picture) => response.content.push(Block::new(picture)),
        }
    }
    let pictures = take_images(&mut fields).into_iter().map(Block::new);
    response.content.extend(pictures);
    if let Some(refusal) = non_empty(fields.opt_string("refusal")?) {
        response.stop_details = Some(refusal_details(Some(&refusal)));
        let mut block = Block::text(refusal);
        mark_refusal(&mut block);
        response.content.push(block);
    }
    let mut signed = extra_content::SignedThoughts::default();
    for (i, call) in calls.into_iter().enumerate() {
        let path = path.key("tool_calls");
        let path = &path.index(i);
        let mut block = read_call(call, path)?;
        if let Some(extra) = extra_content::take(&mut block.rest) {
            let from = Some(context.server.as_str());
            let thought = signed.thought_before(&extra, from, path, &mut response.content);
            response.content.push(thought);
        }
        block.rest.clear();
        if let Content::ToolUse { name, .. } = &mut block.content {
            *name = context.names.original(std::mem::take(name));
        }
        response.content.push(block);
    }
    signed.remove_taken(&mut response.content);
    fields.take("role");
    response.message_rest = fields.rest();
    Ok(())
}

/// Thoughts: whole blocks from gateways, or the text under one of its two names and the
/// details next to it.
fn read_thoughts(
    fields: &mut JsonFields<'_>,
    calls: &[Value],
    context: &ReadContext,
    response: &mut Response,
) -> Result<(), WireError> {
    let path = fields.path().key("thinking_blocks");
    let blocks = fields.opt_list("thinking_blocks")?.unwrap_or_default();
    let text = reasoning_in::take_text(fields);
    let details = reasoning_in::take_details(fields);
    let ids = calls.iter().filter_map(|call| call.get("id")?.as_str());
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    if blocks.is_empty() {
        let thought = reasoning_in::thought(text, details, &ids, context);
        response.content.extend(thought);
        return Ok(());
    }
    for (i, block) in blocks.into_iter().enumerate() {
        response.content.push(read_thought(block, &path.index(i))?);
    }
    if !reasoning_in::has_details(&response.content) {
        let thought = reasoning_in::thought(None, details, &ids, context);
        response.content.extend(thought.map(without_text));
    }
    Ok(())
}

/// A block without the thought's text, which is in another block.
fn without_text(mut block: Block) -> Block {
    if let Content::Thinking { thinking, .. } = &mut block.content {
        thinking.clear();
    }
    block
}

/// The one call in the field that was there before `tool_calls`, in the form of one of those.
pub(super) fn former_call(fields: &mut JsonFields<'_>) -> Option<Value> {
    let function = fields.peek("function_call")?;
    let has_text = |key: &str| {
        let text = function.get(key).and_then(Value::as_str);
        text.is_some_and(|text| !text.is_empty())
    };
    if !has_text("name") && !has_text("arguments") {
        return None;
    }
    let function = fields.take("function_call")?;
    Some(json!({"index": 0, "type": "function", "function": function}))
}

fn thought(thinking: String) -> Block {
    Block::new(Content::Thinking {
        thinking,
        signature: String::new(),
    })
}

/// Adds an id where a server sends none, or an empty one.
fn ensure_id(call: &mut Value, answer: &str, n: usize) {
    let has_id = call
        .get("id")
        .and_then(Value::as_str)
        .is_some_and(|id| !id.is_empty());
    if let (false, Some(map)) = (has_id, call.as_object_mut()) {
        map.insert("id".to_owned(), generated_call_id(answer, n).into());
    }
}

pub(super) fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
