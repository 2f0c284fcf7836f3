//! Writes a generateContent response for a client.

use serde_json::{Value, json};

use super::response_part_out::{
    PartSigner, call, finish_message, finish_reason, text, thought, whole, write_usage,
};
use crate::Dialect;
use crate::context::ReplyContext;
use crate::dropped::Dropped;
use crate::drops::Drops;
use crate::fields::put;
use crate::json_path::JsonPath;
use crate::neutral::{
    Content, Map, Response, ResponseDialectFields, StopReason, without_dialect_fields,
};

pub(crate) fn write_response(response: &Response, context: &ReplyContext) -> (Value, Vec<Dropped>) {
    let mut drops = Drops::default();
    let parts = write_parts(response, context, &mut drops);
    let own = response.origin == Dialect::Gemini;
    let mut candidate = Map::new();
    let content = json!({"parts": parts, "role": "model"});
    candidate.insert("content".to_owned(), content);
    let reason = finish_reason(response.stop_reason.as_ref());
    candidate.insert("finishReason".to_owned(), reason.into());
    if response.stop_reason == Some(StopReason::Refusal) {
        let message = finish_message(response.stop_details.as_ref());
        put(&mut candidate, "finishMessage", message);
    }
    candidate.insert("index".to_owned(), 0.into());
    let run = ResponseDialectFields::read(Dialect::Gemini, &response.rest);
    candidate.extend(run.choice);
    if own {
        candidate.extend(response.message_rest.clone());
    }
    let mut body = Map::new();
    body.insert("candidates".to_owned(), json!([candidate]));
    body.insert("usageMetadata".to_owned(), write_usage(&response.usage));
    let model = context.model_or(&response.model);
    body.insert("modelVersion".to_owned(), model.into());
    let id = context.id.as_ref().unwrap_or(&response.id);
    body.insert("responseId".to_owned(), id.as_str().into());
    put(&mut body, "container", response.container.clone());
    body.extend(run.body);
    if own {
        body.extend(without_dialect_fields(&response.rest));
    }
    (Value::Object(body), drops.into_vec())
}

fn write_parts(response: &Response, context: &ReplyContext, drops: &mut Drops) -> Vec<Value> {
    let mut signing = PartSigner::default();
    let mut parts = Vec::with_capacity(response.content.len());
    for (i, block) in response.content.iter().enumerate() {
        let path = JsonPath::Root.key("content");
        let path = &path.index(i);
        match &block.content {
            Content::Thinking { thinking, .. } => {
                if context.show_thoughts && !thinking.is_empty() {
                    parts.push(thought(thinking));
                }
                signing.thought(block.clone());
            }
            Content::RedactedThinking { .. } => signing.thought(block.clone()),
            Content::Text(content) => {
                if !content.is_empty() {
                    parts.push(signing.sign_part(text(content)));
                }
                drops.rest(path, &block.rest);
            }
            Content::ToolUse { id, name, input } => {
                parts.push(signing.sign_part(call(id, name, input, path, drops)));
            }
            _ => {
                let new = whole(block, Some(response.origin), path, drops);
                parts.extend(new.into_iter().map(|part| signing.sign_part(part)));
            }
        }
    }
    parts.extend(signing.trailing_part());
    if parts.is_empty() {
        // Clients treat a response without parts as no response.
        parts.push(text(""));
    }
    parts
}
