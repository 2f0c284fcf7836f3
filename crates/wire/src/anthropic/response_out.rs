//! Writes a Messages response for a client.

use serde_json::{Value, json};

use super::answered_calls::{ShownBlock, UnansweredCalls};
use super::response_block;
use super::usage::write_usage;
use crate::Dialect;
use crate::context::ReplyContext;
use crate::fields::put;
use crate::neutral::{
    Map, Response, ResponseDialectFields, StopReason, TokenUsage, without_dialect_fields,
};

pub(crate) fn write_response(response: &Response, context: &ReplyContext) -> Value {
    let id = context.id_for(&response.id, "msg_");
    let model = context.model_or(&response.model);
    let mut map = head(&id, model, &response.usage);
    let content = write_content(response, context);
    map.insert("content".to_owned(), content.into());
    let reason = response.stop_reason.as_ref().map(StopReason::as_str);
    map.insert("stop_reason".to_owned(), reason.into());
    map.insert(
        "stop_sequence".to_owned(),
        response.stop_sequence.clone().into(),
    );
    put(&mut map, "stop_details", response.stop_details.clone());
    put(&mut map, "container", response.container.clone());
    if response.origin == Dialect::Messages {
        map.extend(without_dialect_fields(&response.rest));
    }
    map.extend(ResponseDialectFields::read(Dialect::Messages, &response.rest).body);
    Value::Object(map)
}

fn write_content(response: &Response, context: &ReplyContext) -> Vec<Value> {
    let mut content = Vec::with_capacity(response.content.len());
    let mut unanswered = UnansweredCalls::default();
    for block in &response.content {
        let ShownBlock { block, result } = response_block::write_whole(block, context);
        for shown in std::iter::once(block).chain(result) {
            unanswered.note(&shown);
            content.push(shown);
        }
    }
    content.extend(unanswered.take_results());
    content
}

/// The fields a whole message and the start of a streamed one share.
pub(super) fn head(id: &str, model: &str, usage: &TokenUsage) -> Map {
    let value = json!({
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": write_usage(usage),
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
