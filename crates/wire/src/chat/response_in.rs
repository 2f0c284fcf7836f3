//! A Chat Completions answer, read.

use serde_json::Value;

use super::USAGE;
use super::message_in::{read_call, read_thought};
use super::said::{Said, read_said};
use crate::Dialect;
use crate::context::ReadContext;
use crate::error::WireError;
use crate::fields::{Fields, Path};
use crate::names::made_id;
use crate::neutral::{Block, Content, Response, StopReason, refusal_details};
use crate::openai::read_usage;

pub(crate) fn read_response(body: Value, context: &ReadContext) -> Result<Response, WireError> {
    let root = Path::Root;
    let mut fields = Fields::of(body, &root)?;
    let id = non_empty(fields.opt_string("id")?).unwrap_or_else(|| context.id.clone());
    let model = non_empty(fields.opt_string("model")?).unwrap_or_else(|| context.model.clone());
    let mut response = Response::new(Dialect::Chat, id, model);
    if let Some(usage) = fields.take("usage") {
        response.usage = read_usage(usage, &root.key("usage"), &USAGE)?;
    }
    let choices = fields.list("choices")?;
    let path = root.key("choices");
    let path = &path.index(0);
    let choice = choices
        .into_iter()
        .next()
        .ok_or_else(|| WireError::Missing {
            field: path.to_string(),
        })?;
    let mut choice = Fields::of(choice, path)?;
    let message = choice.need("message")?;
    read_message(message, &path.key("message"), context, &mut response)?;
    let reason = choice.opt_string("finish_reason")?;
    let calls = response
        .content
        .iter()
        .any(|block| matches!(block.content, Content::ToolUse { .. }));
    let refused = response.stop_details.is_some();
    response.stop_reason = Some(stop_reason(reason.as_deref(), calls, refused));
    choice.take("index");
    response.choice_rest = choice.rest();
    response.choice_rest.retain(|_, value| !value.is_null());
    for written_anew in ["object", "created"] {
        fields.take(written_anew);
    }
    response.rest = fields.rest();
    Ok(response)
}

fn read_message(
    value: Value,
    path: &Path<'_>,
    context: &ReadContext,
    response: &mut Response,
) -> Result<(), WireError> {
    let mut fields = Fields::of(value, path)?;
    read_thoughts(&mut fields, response)?;
    for said in read_said(fields.take("content"), &path.key("content"))? {
        match said {
            Said::Text(text) if text.is_empty() => {}
            Said::Text(text) => response.content.push(Block::text(text)),
            Said::Thought(text) => response.content.push(thought(text)),
        }
    }
    if let Some(refusal) = non_empty(fields.opt_string("refusal")?) {
        response.stop_details = Some(refusal_details(Some(&refusal)));
        response.content.push(Block::text(refusal));
    }
    let calls = fields.opt_list("tool_calls")?.unwrap_or_default();
    for (i, mut call) in calls.into_iter().enumerate() {
        give_id(&mut call, &response.id, i);
        let mut block = read_call(call, &path.key("tool_calls").index(i))?;
        block.rest.clear();
        if let Content::ToolUse { name, .. } = &mut block.content {
            *name = context.names.original(std::mem::take(name));
        }
        response.content.push(block);
    }
    fields.take("role");
    response.message_rest = fields.rest();
    Ok(())
}

/// Thoughts: whole blocks from gateways, or the text under one of its two names.
fn read_thoughts(fields: &mut Fields<'_>, response: &mut Response) -> Result<(), WireError> {
    let path = fields.path().key("thinking_blocks");
    let blocks = fields.opt_list("thinking_blocks")?.unwrap_or_default();
    let told = fields
        .take("reasoning_content")
        .or_else(|| fields.peek("reasoning").cloned());
    let text = told.and_then(|told| non_empty(told.as_str().map(str::to_owned)));
    if blocks.is_empty() {
        response.content.extend(text.map(thought));
        return Ok(());
    }
    for (i, block) in blocks.into_iter().enumerate() {
        response.content.push(read_thought(block, &path.index(i))?);
    }
    Ok(())
}

fn thought(thinking: String) -> Block {
    Block::new(Content::Thinking {
        thinking,
        signature: String::new(),
    })
}

/// Some servers give calls no id, or an empty one.
fn give_id(call: &mut Value, answer: &str, n: usize) {
    let has_id = call
        .get("id")
        .and_then(Value::as_str)
        .is_some_and(|id| !id.is_empty());
    if let (false, Some(map)) = (has_id, call.as_object_mut()) {
        map.insert("id".to_owned(), made_id(answer, n).into());
    }
}

pub(super) fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

/// Why it stopped. Some servers say `stop` although they call tools, so the calls
/// decide.
pub(super) fn stop_reason(reason: Option<&str>, calls: bool, refused: bool) -> StopReason {
    match reason {
        Some("length") => StopReason::MaxTokens,
        Some("content_filter") => StopReason::Refusal,
        _ if refused => StopReason::Refusal,
        _ if calls => StopReason::ToolUse,
        None | Some("stop" | "tool_calls" | "function_call" | "eos" | "") => StopReason::EndTurn,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}
