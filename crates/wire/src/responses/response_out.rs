//! A Responses response, written for a client.

use serde_json::{Value, json};

use super::{
    USAGE_FIELDS, client_tools, image_item, namespace, reasoning_signature, response_shape, shell,
    source_item,
};
use crate::Dialect;
use crate::arguments;
use crate::chat::freeform_text;
use crate::context::ReplyContext;
use crate::dropped::Dropped;
use crate::drops::Drops;
use crate::json_path::JsonPath;
use crate::neutral::{
    Block, Content, MediaSource, Response, ResponseDialectFields, StopReason, TokenUsage,
    cited_content, without_dialect_fields,
};
use crate::openai::{explanation, is_refusal, write_usage};

pub(crate) fn write_response(response: &Response, context: &ReplyContext) -> (Value, Vec<Dropped>) {
    let mut drops = Drops::default();
    let id = context.id_for(&response.id, "resp_");
    let refusal = explanation(response.stop_details.as_ref());
    let mut output = Vec::new();
    for (i, block) in cited_content(response).iter().enumerate() {
        if source_item::continues(block) && add_part(block, refusal, &mut output) {
            note_rest(block, i, &mut drops);
            continue;
        }
        let item = item_id(block, &id, context.item_number(output.len()));
        let item = write_item(block, &item, context, refusal);
        match item {
            Some(item) => {
                note_rest(block, i, &mut drops);
                output.push(item);
            }
            None => drops.add(JsonPath::Root.key("content").index(i), NO_SUCH_ITEM),
        }
    }
    let text = response.content.iter().find_map(Block::as_text);
    if let (None, Some(why)) = (text, refusal) {
        let number = context.item_number(output.len());
        output.push(refusal_item(&id, number, why));
    }
    let mut body = response_shape::response_fields(&id, context.model_or(&response.model), context);
    let is_all = refusal.is_some() && (text.is_none() || text == refusal);
    let refused = is_all || response.content.iter().any(is_refusal);
    let (status, details) = status(response.stop_reason.as_ref(), refused);
    response_shape::set_status(&mut body, status, details, context.completed_at());
    body.insert("output".to_owned(), output.into());
    body.insert(
        "usage".to_owned(),
        write_usage(&response.usage, &USAGE_FIELDS),
    );
    if let Some(container) = &response.container {
        body.insert("container".to_owned(), container.clone());
    }
    let own = ResponseDialectFields::read(Dialect::Responses, &response.rest).body;
    response_shape::add_provider_fields(&mut body, &own);
    if response.origin == Dialect::Responses {
        response_shape::add_provider_fields(&mut body, &without_dialect_fields(&response.rest));
    }
    (Value::Object(body), drops.into_vec())
}

/// Adds a block to the message that it is a part of; returns whether there was one.
fn add_part(block: &Block, refusal: Option<&str>, output: &mut [Value]) -> bool {
    let Some(Value::Object(item)) = output.last_mut() else {
        return false;
    };
    let (Some(part), Some(Value::Array(parts))) =
        (write_part(block, refusal), item.get_mut("content"))
    else {
        return false;
    };
    parts.push(part);
    // In a stream some of the message's fields come only at the end.
    source_item::restore(block, item);
    true
}

/// A block as the part of a message; `None` when it is a separate item.
fn write_part(block: &Block, refusal: Option<&str>) -> Option<Value> {
    match &block.content {
        Content::Text(text) if refusal == Some(text) || is_refusal(block) => {
            Some(refusal_part(text))
        }
        Content::Text(text) => Some(text_part(text, block)),
        Content::Other { kind } if source_item::part(block).is_some() => {
            Some(source_item::whole(kind, block))
        }
        _ => None,
    }
}

pub(super) const NO_SUCH_ITEM: &str = "not supported by Responses";

/// Anthropic's citations are of another kind than OpenAI's annotations.
fn note_rest(block: &Block, i: usize, drops: &mut Drops) {
    if let Content::Text(_) = block.content {
        let rest = source_item::without(&block.rest, &["annotations", "logprobs"]);
        if !source_item::is_own(block) {
            drops.rest(&JsonPath::Root.key("content").index(i), &rest);
        }
    }
}

/// A message with only the refusal.
pub(super) fn refusal_item(response: &str, n: usize, why: &str) -> Value {
    let block = Block::text("");
    let id = item_id(&block, response, n);
    let parts = json!([refusal_part(why)]);
    message(&id, "completed", parts, &block)
}

/// The status, and why a response is incomplete. A refusal in its own field is a complete
/// response.
pub(super) fn status(reason: Option<&StopReason>, is_refusal: bool) -> (&'static str, Value) {
    match reason {
        Some(StopReason::Refusal) if !is_refusal => {
            ("incomplete", json!({"reason": "content_filter"}))
        }
        Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::PauseTurn) => {
            ("incomplete", json!({"reason": "max_output_tokens"}))
        }
        _ => ("completed", Value::Null),
    }
}

pub(super) fn usage(usage: &TokenUsage) -> Value {
    write_usage(usage, &USAGE_FIELDS)
}

/// An item's id: the provider's own where it is known, else derived from the response's.
pub(super) fn item_id(block: &Block, response: &str, n: usize) -> String {
    if let Some(id) = source_item::id(block) {
        return id.to_owned();
    }
    if let Some(id) = reasoning_signature::openai_id(&block.content) {
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
        Content::Image(MediaSource::Url(_)) => "msg",
        Content::Image(_) => "ig",
        _ => "item",
    };
    let base = response.strip_prefix("resp_").unwrap_or(response);
    format!("{prefix}_{base}_{n}")
}

/// A whole item; `None` for blocks this dialect does not support.
pub(super) fn write_item(
    block: &Block,
    id: &str,
    context: &ReplyContext,
    refusal: Option<&str>,
) -> Option<Value> {
    if let Some(part) = write_part(block, refusal) {
        return Some(message(id, "completed", json!([part]), block));
    }
    Some(match &block.content {
        Content::Thinking { thinking, .. } => reasoning(id, thinking, block),
        Content::RedactedThinking { .. } => reasoning(id, "", block),
        // Items of OpenAI's own servers, unchanged.
        Content::ServerToolUse { .. } if source_item::is_own(block) => {
            source_item::whole("shell_call", block)
        }
        Content::ServerToolResult { .. } if source_item::is_own(block) => {
            source_item::whole("shell_call_output", block)
        }
        Content::Other { kind } if source_item::is_own(block) => source_item::whole(kind, block),
        Content::ToolUse {
            id: call_id,
            name,
            input,
        } => {
            if let Some(item) = client_tools::whole(&block.content, id, context) {
                return Some(item);
            }
            let item = if context.freeform.contains(name) {
                custom_call(id, call_id, name, &freeform_text(input))
            } else {
                function_call(id, call_id, name, &arguments::write(input), "completed")
            };
            namespace::restored(item, &context.client_tools)
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
        // An image that is elsewhere can only be pointed to.
        Content::Image(MediaSource::Url(url)) => {
            let text = format!("![image]({url})");
            let blank = Block::text("");
            message(id, "completed", json!([text_part(&text, &blank)]), &blank)
        }
        Content::Image(_) => return image_item::write(block, id),
        _ => return None,
    })
}

/// A message item; its dialect-specific fields are in the block.
pub(super) fn message(id: &str, status: &str, content: Value, block: &Block) -> Value {
    let mut item = json!({"id": id, "type": "message", "status": status, "role": "assistant"});
    if let Some(map) = item.as_object_mut() {
        source_item::restore(block, map);
        map.insert("content".to_owned(), content);
    }
    item
}

pub(super) fn refusal_part(text: &str) -> Value {
    json!({"type": "refusal", "refusal": text})
}

pub(super) fn text_part(text: &str, block: &Block) -> Value {
    let list = |key: &str| block.rest.get(key).cloned().unwrap_or_else(|| json!([]));
    json!({
        "type": "output_text",
        "text": text,
        "annotations": list("annotations"),
        "logprobs": list("logprobs"),
    })
}

pub(super) fn reasoning(id: &str, thinking: &str, block: &Block) -> Value {
    let summary = match thinking {
        "" => json!([]),
        text => json!([{"type": "summary_text", "text": text}]),
    };
    let encrypted = reasoning_signature::encrypted_content(&block.content, id);
    let mut item =
        json!({"id": id, "type": "reasoning", "summary": summary, "encrypted_content": encrypted});
    // Its parts and other fields, unchanged.
    if let (Some(map), Some(own)) = (item.as_object_mut(), source_item::item(block)) {
        map.extend(source_item::without(own, &["id"]));
    }
    item
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
