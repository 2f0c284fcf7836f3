//! Writes a Chat Completions response for a client.

use serde_json::{Value, json};

use super::USAGE_FIELDS;
use super::former_functions::{self, ONE_CALL};
use super::reasoning_reply::ReasoningReply;
use crate::Dialect;
use crate::anthropic::block_to_client;
use crate::arguments;
use crate::context::ReplyContext;
use crate::dropped::Dropped;
use crate::drops::Drops;
use crate::fields::put;
use crate::generated_images;
use crate::json_path::JsonPath;
use crate::neutral::{
    ANNOTATIONS, Content, Map, Response, ResponseDialectFields, StopReason,
    take_citations_for_chat, without_dialect_fields,
};
use crate::openai::{explanation, is_refusal, write_usage};

pub(crate) fn write_response(response: &Response, context: &ReplyContext) -> (Value, Vec<Dropped>) {
    let mut drops = Drops::default();
    let mut message = write_message(response, context, &mut drops);
    let own = response.origin == Dialect::Chat;
    let run = ResponseDialectFields::read(Dialect::Chat, &response.rest);
    message.extend(run.message);
    if own {
        message.extend(response.message_rest.clone());
    }
    // A refusal by the model is a complete response; one by a filter is not.
    let is_all = message.get("content") == Some(&Value::Null)
        && message.get("refusal").is_some_and(Value::is_string);
    let refused = is_all || response.content.iter().any(is_refusal);
    let reason = finish_reason(response.stop_reason.as_ref(), refused, context);
    let mut body = Map::new();
    let id = context.id_for(&response.id, "chatcmpl-");
    body.insert("id".to_owned(), id.into());
    body.insert("object".to_owned(), "chat.completion".into());
    body.insert("created".to_owned(), context.created.into());
    body.insert("model".to_owned(), context.model_or(&response.model).into());
    let mut choice =
        json!({"index": 0, "message": message, "logprobs": null, "finish_reason": reason});
    if let Some(map) = choice.as_object_mut() {
        map.extend(run.choice);
        if own {
            map.extend(response.choice_rest.clone());
        }
    }
    body.insert("choices".to_owned(), json!([choice]));
    body.insert(
        "usage".to_owned(),
        write_usage(&response.usage, &USAGE_FIELDS),
    );
    put(&mut body, "container", response.container.clone());
    body.extend(run.body);
    if own {
        body.extend(without_dialect_fields(&response.rest));
    }
    (Value::Object(body), drops.into_vec())
}

fn write_message(response: &Response, context: &ReplyContext, drops: &mut Drops) -> Map {
    let mut text = String::new();
    // It has a field of its own: an earlier turn of a run may have said something else.
    let mut refused = String::new();
    let mut thoughts = String::new();
    let mut blocks = Vec::new();
    let mut calls = Vec::new();
    let mut function_call = None;
    let mut images = Vec::new();
    let mut annotations = Vec::new();
    let mut given = ReasoningReply::default();
    for (i, block) in response.content.iter().enumerate() {
        let path = JsonPath::Root.key("content");
        match &block.content {
            Content::Text(more) => {
                let mut rest = block.rest.clone();
                let before = text.chars().count();
                annotations.extend(take_citations_for_chat(&mut rest, before));
                if is_refusal(block) {
                    refused.push_str(more);
                } else {
                    text.push_str(more);
                }
                given.text();
                drops.rest(&path.index(i), &rest);
            }
            Content::Thinking {
                thinking,
                signature,
            } => {
                thoughts.push_str(thinking);
                given.thought(signature);
                blocks.push(block_to_client(block));
            }
            Content::RedactedThinking { .. } => blocks.push(block_to_client(block)),
            Content::ToolUse { .. } if function_call.is_some() => {
                drops.add(path.index(i), ONE_CALL);
            }
            Content::ToolUse { name, input, .. } if context.function_calls => {
                let arguments = arguments::write(input);
                function_call = Some(json!({"name": name, "arguments": arguments}));
            }
            Content::ToolUse { id, name, input } => {
                let mut call = write_call(id, name, input, context);
                given.call(&mut call);
                calls.push(call);
            }
            Content::Image(source) => {
                match generated_images::write_chat_image(source, images.len()) {
                    Some(image) => images.push(image),
                    None => drops.add(path.index(i), NO_SUCH_BLOCK),
                }
            }
            _ => drops.add(path.index(i), NO_SUCH_BLOCK),
        }
    }
    let refused = (!refused.is_empty()).then_some(refused.as_str());
    let refusal = explanation(response.stop_details.as_ref()).or(refused);
    let mut message = Map::from_iter([("role".to_owned(), "assistant".into())]);
    let content = (!text.is_empty() && refusal != Some(text.as_str())).then(|| text.clone());
    message.insert("content".to_owned(), content.into());
    message.insert("refusal".to_owned(), refusal.into());
    if !thoughts.is_empty() {
        message.insert("reasoning_content".to_owned(), thoughts.into());
    }
    if !blocks.is_empty() {
        message.insert("thinking_blocks".to_owned(), blocks.into());
    }
    put(&mut message, "reasoning_details", given.all_details(&calls));
    if !images.is_empty() {
        message.insert("images".to_owned(), images.into());
    }
    if !annotations.is_empty() {
        message.insert(ANNOTATIONS.to_owned(), annotations.into());
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    put(&mut message, "function_call", function_call);
    message
}

pub(super) const NO_SUCH_BLOCK: &str = "not supported by Chat Completions";

fn write_call(id: &str, name: &str, input: &Value, context: &ReplyContext) -> Value {
    if context.freeform.iter().any(|known| known == name) {
        let text = freeform_text(input);
        return json!({"id": id, "type": "custom", "custom": {"name": name, "input": text}});
    }
    let arguments = arguments::write(input);
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// The one text of a free-form tool; models without such tools put it in a field.
pub(crate) fn freeform_text(input: &Value) -> String {
    let text = input.get("input").and_then(Value::as_str);
    text.map_or_else(|| arguments::write(input), str::to_owned)
}

/// Chat has no value for a paused turn or a full context: the response is truncated.
pub(super) fn finish_reason(
    reason: Option<&StopReason>,
    is_refusal: bool,
    context: &ReplyContext,
) -> &'static str {
    match reason {
        Some(StopReason::Refusal) if is_refusal => "stop",
        Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::PauseTurn) => "length",
        Some(StopReason::ToolUse) => former_functions::finish_reason(context),
        Some(StopReason::Refusal) => "content_filter",
        Some(StopReason::EndTurn | StopReason::StopSequence | StopReason::Other(_)) | None => {
            "stop"
        }
    }
}
