//! A Responses answer, written for a client.

use serde_json::{Value, json};

use super::{USAGE, picture, sealed, shell};
use crate::Dialect;
use crate::arguments;
use crate::chat::freeform_text;
use crate::context::ReplyContext;
use crate::drops::{Dropped, Drops};
use crate::fields::Path;
use crate::neutral::{Block, Content, Map, Response, Source, StopReason, Usage};
use crate::openai::{explanation, write_usage};

pub(crate) fn write_response(response: &Response, context: &ReplyContext) -> (Value, Vec<Dropped>) {
    let mut drops = Drops::default();
    let id = context.id_for(&response.id, "resp_");
    let refusal = explanation(response.stop_details.as_ref());
    let mut output = Vec::new();
    for (i, block) in response.content.iter().enumerate() {
        let item = write_item(block, &item_id(block, &id, output.len()), context, refusal);
        match item {
            Some(item) => {
                note_rest(block, i, &mut drops);
                output.push(item);
            }
            None => drops.add(Path::Root.key("content").index(i), UNSAYABLE),
        }
    }
    let text = response.content.iter().find_map(Block::as_text);
    if let (None, Some(why)) = (text, refusal) {
        output.push(refusal_item(&id, output.len(), why));
    }
    let mut body = head(&id, context.model_or(&response.model), context);
    let told = refusal.is_some() && (text.is_none() || text == refusal);
    let (status, details) = status(response.stop_reason.as_ref(), told);
    body.insert("status".to_owned(), status.into());
    body.insert("incomplete_details".to_owned(), details);
    body.insert("output".to_owned(), output.into());
    body.insert("usage".to_owned(), write_usage(&response.usage, &USAGE));
    if let Some(container) = &response.container {
        body.insert("container".to_owned(), container.clone());
    }
    if response.origin == Dialect::Responses {
        for (key, value) in &response.rest {
            body.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    (Value::Object(body), drops.into_vec())
}

pub(super) const UNSAYABLE: &str = "Responses has no such item";

/// The fields of every state of a response.
pub(super) fn head(id: &str, model: &str, context: &ReplyContext) -> Map {
    let mut map = Map::new();
    map.insert("id".to_owned(), id.into());
    map.insert("object".to_owned(), "response".into());
    map.insert("created_at".to_owned(), context.created.into());
    map.insert("status".to_owned(), "in_progress".into());
    map.insert("error".to_owned(), Value::Null);
    map.insert("incomplete_details".to_owned(), Value::Null);
    map.insert("model".to_owned(), model.into());
    map.insert("output".to_owned(), json!([]));
    // The SDKs' types demand these even when nobody said anything about them.
    map.insert("parallel_tool_calls".to_owned(), true.into());
    map.insert("tool_choice".to_owned(), "auto".into());
    map.insert("tools".to_owned(), json!([]));
    map.extend(context.echo.clone());
    map.insert("usage".to_owned(), Value::Null);
    map
}

/// Anthropic's citations are of another kind than OpenAI's annotations.
fn note_rest(block: &Block, i: usize, drops: &mut Drops) {
    if let Content::Text(_) = block.content {
        let mut rest = block.rest.clone();
        rest.shift_remove("annotations");
        drops.rest(&Path::Root.key("content").index(i), &rest);
    }
}

/// A message that says nothing but why the model declined.
pub(super) fn refusal_item(response: &str, n: usize, why: &str) -> Value {
    let id = item_id(&Block::text(""), response, n);
    message(
        &id,
        "completed",
        json!([{"type": "refusal", "refusal": why}]),
    )
}

/// The status, and why an answer is incomplete. A refusal that is told as one is a
/// complete answer.
pub(super) fn status(reason: Option<&StopReason>, refusal_told: bool) -> (&'static str, Value) {
    match reason {
        Some(StopReason::Refusal) if !refusal_told => {
            ("incomplete", json!({"reason": "content_filter"}))
        }
        Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::PauseTurn) => {
            ("incomplete", json!({"reason": "max_output_tokens"}))
        }
        _ => ("completed", Value::Null),
    }
}

pub(super) fn usage(usage: &Usage) -> Value {
    write_usage(usage, &USAGE)
}

/// An item's id: the provider's own for its reasoning, else made from the answer's.
pub(super) fn item_id(block: &Block, response: &str, n: usize) -> String {
    if let Some(id) = sealed::own_id(&block.content) {
        return id;
    }
    if let (Content::Image(_), Some(id)) = (&block.content, block.rest.get("id"))
        && let Some(id) = id.as_str()
    {
        return id.to_owned();
    }
    let prefix = match &block.content {
        Content::Text(_) => "msg",
        Content::Thinking { .. } | Content::RedactedThinking { .. } => "rs",
        Content::ToolUse { .. } => "fc",
        Content::ServerToolUse { .. } => "sh",
        Content::ServerToolResult { .. } => "sho",
        Content::Image(Source::Url(_)) => "msg",
        Content::Image(_) => "ig",
        _ => "item",
    };
    let base = response.strip_prefix("resp_").unwrap_or(response);
    format!("{prefix}_{base}_{n}")
}

/// A whole item; none for blocks this dialect cannot say.
pub(super) fn write_item(
    block: &Block,
    id: &str,
    context: &ReplyContext,
    refusal: Option<&str>,
) -> Option<Value> {
    Some(match &block.content {
        Content::Text(text) => {
            let part = match refusal {
                Some(refusal) if refusal == text => json!({"type": "refusal", "refusal": text}),
                _ => text_part(text, block),
            };
            message(id, "completed", json!([part]))
        }
        Content::Thinking { thinking, .. } => reasoning(id, thinking, &block.content),
        Content::RedactedThinking { .. } => reasoning(id, "", &block.content),
        Content::ToolUse {
            id: call_id,
            name,
            input,
        } => {
            if context.freeform.contains(name) {
                custom_call(id, call_id, name, &freeform_text(input))
            } else {
                function_call(id, call_id, name, &arguments::write(input), "completed")
            }
        }
        Content::ServerToolUse {
            id: call_id,
            name,
            input,
        } => shell::write_call(id, call_id, &[shell::command(name, input)], "completed"),
        Content::ServerToolResult {
            tool_use_id,
            content,
            ..
        } => shell::write_output(id, tool_use_id, content),
        // A picture that is elsewhere can only be pointed to.
        Content::Image(Source::Url(url)) => {
            let text = format!("![picture]({url})");
            message(id, "completed", json!([text_part(&text, &Block::text(""))]))
        }
        Content::Image(_) => return picture::write(block, id),
        _ => return None,
    })
}

pub(super) fn message(id: &str, status: &str, content: Value) -> Value {
    json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
}

pub(super) fn text_part(text: &str, block: &Block) -> Value {
    let annotations = block.rest.get("annotations").cloned();
    json!({
        "type": "output_text",
        "text": text,
        "annotations": annotations.unwrap_or_else(|| json!([])),
        "logprobs": [],
    })
}

pub(super) fn reasoning(id: &str, thinking: &str, content: &Content) -> Value {
    let summary = match thinking {
        "" => json!([]),
        text => json!([{"type": "summary_text", "text": text}]),
    };
    let encrypted = sealed::for_client(content, id);
    json!({"id": id, "type": "reasoning", "summary": summary, "encrypted_content": encrypted})
}

pub(super) fn function_call(
    id: &str,
    call_id: &str,
    name: &str,
    arguments: &str,
    status: &str,
) -> Value {
    json!({
        "id": id,
        "type": "function_call",
        "status": status,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    })
}

pub(super) fn custom_call(id: &str, call_id: &str, name: &str, input: &str) -> Value {
    json!({
        "id": id,
        "type": "custom_tool_call",
        "call_id": call_id,
        "name": name,
        "input": input,
    })
}
