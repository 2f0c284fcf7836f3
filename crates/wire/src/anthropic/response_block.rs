//! Blocks of a response, written for a Messages client.
//!
//! Anthropic's own blocks are unchanged. Calls that another vendor's servers answered become
//! those of Anthropic's server tools, where there is one: see [`super::answered_calls`]. What
//! another vendor's model generated and Anthropic has no block for becomes a text that names it,
//! with the content in another field: see [`crate::generated_images`].

use serde_json::{Value, json};

use super::answered_calls::{self, ShownBlock};
use super::block_out::{to_client, write_source};
use crate::adapt::restore_member;
use crate::context::ReplyContext;
use crate::generated_images;
use crate::neutral::{
    ANNOTATIONS, Block, Content, DIALECT_FIELDS, Delta, Map, without_dialect_fields,
};
use crate::server_call_ids::{ServerCallOrigin, client_id};

/// A whole block.
pub(super) fn write_whole(block: &Block, context: &ReplyContext) -> ShownBlock {
    if let Some(call) = answered_calls::write(block) {
        return call;
    }
    ShownBlock::alone(match write_foreign(block) {
        Some((mut map, text)) => {
            map.insert("text".to_owned(), text.into());
            Value::Object(map)
        }
        None => with_object_input(write_own(block, context)),
    })
}

/// A block that Anthropic has too. Clients send their texts back, and Anthropic refuses the
/// annotations of OpenAI's.
fn write_own(block: &Block, context: &ReplyContext) -> Value {
    let mut value = match is_shell_item(block) {
        true => to_client(&Block::new(block.content.clone())),
        false => to_client(block),
    };
    match (&block.content, value.as_object_mut()) {
        (Content::Text(_), Some(map)) => drop(map.shift_remove(ANNOTATIONS)),
        (Content::ToolUse { .. }, Some(map)) => restore_member(map, context),
        (Content::ServerToolUse { id, .. }, Some(map)) => set_id(map, "id", id),
        (Content::ServerToolResult { tool_use_id, .. }, Some(map)) => {
            set_id(map, "tool_use_id", tool_use_id);
        }
        _ => {}
    }
    value
}

fn set_id(map: &mut Map, key: &str, id: &str) {
    map.insert(
        key.to_owned(),
        client_id(ServerCallOrigin::Other, id).into(),
    );
}

/// Whether a block was read from an item of OpenAI's shell. Its other fields are those of the item,
/// and the item's id is not the one by which a result names its call.
fn is_shell_item(block: &Block) -> bool {
    let content = &block.content;
    matches!(
        content,
        Content::ServerToolUse { .. } | Content::ServerToolResult { .. }
    ) && block.rest.contains_key(DIALECT_FIELDS)
}

/// Clients expect an object as the input of a call. Arguments that are none, such as the text of
/// a model that wrote no valid JSON, become a field of one.
fn with_object_input(mut block: Value) -> Value {
    if let Some(input) = call_input(&mut block).filter(|input| !input.is_object()) {
        *input = json!({"input": input.take()});
    }
    block
}

/// The input of a block, if that is a call.
fn call_input(block: &mut Value) -> Option<&mut Value> {
    let kind = block.get("type").and_then(Value::as_str);
    let is_call = matches!(kind, Some("tool_use" | "server_tool_use"));
    block.get_mut("input").filter(|_| is_call)
}

/// A block at its start, its one delta, and the result that follows it.
pub(super) struct StartedBlock {
    pub(super) block: Value,
    pub(super) delta: Option<Delta>,
    pub(super) result: Option<Value>,
}

/// A block at its start: many clients take a text, and the input of a call, from deltas only.
pub(super) fn write_start(block: &Block, context: &ReplyContext) -> StartedBlock {
    let answered = answered_calls::write(block);
    if answered.is_none()
        && let Some((map, text)) = write_foreign(block)
    {
        return StartedBlock {
            block: Value::Object(map),
            delta: Some(Delta::Text(text)),
            result: None,
        };
    }
    let shown = answered.unwrap_or_else(|| ShownBlock::alone(write_own(block, context)));
    let ShownBlock { mut block, result } = shown;
    let delta = take_input(&mut block);
    StartedBlock {
        block,
        delta,
        result,
    }
}

/// Takes the input out of a call that is whole from the start.
fn take_input(block: &mut Value) -> Option<Delta> {
    let input = call_input(block)?;
    if input.as_object().is_none_or(Map::is_empty) {
        return None;
    }
    let input = std::mem::replace(input, json!({}));
    Some(Delta::InputJson(input.to_string()))
}

/// A block that is not Anthropic's: with an empty text, and that text.
fn write_foreign(block: &Block) -> Option<(Map, String)> {
    let mut map = Map::from_iter([
        ("type".to_owned(), "text".into()),
        ("text".to_owned(), "".into()),
    ]);
    let text = match &block.content {
        Content::Image(source) | Content::Document { source, .. } => {
            map.insert("source".to_owned(), write_source(source));
            map.extend(other_fields(block));
            generated_images::describe_media(&block.content)?
        }
        Content::Other { kind } if is_foreign(kind, block) => {
            map.extend(answered_calls::text_fields(block));
            format!("[{kind}]")
        }
        _ => return None,
    };
    Some((map, text))
}

/// Whether a block that no codec understands is an item of Responses, or a part of Gemini or
/// Converse: their names are in another case than those of Anthropic's blocks.
fn is_foreign(kind: &str, block: &Block) -> bool {
    block.rest.contains_key(DIALECT_FIELDS) || kind.contains(|c: char| c.is_ascii_uppercase())
}

/// The fields besides the content. The id and status of another dialect's item are
/// meaningless here.
fn other_fields(block: &Block) -> Map {
    let mut rest = without_dialect_fields(&block.rest);
    if block.rest.contains_key(DIALECT_FIELDS) {
        rest.shift_remove("id");
        rest.shift_remove("status");
    }
    rest
}
