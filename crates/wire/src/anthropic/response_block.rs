//! Blocks of a response, written for a Messages client.
//!
//! Anthropic's own blocks are unchanged. Calls that another vendor's servers answered become
//! those of Anthropic's server tools, where there is one: see [`super::answered_calls`]. What
//! another vendor's model generated and Anthropic has no block for becomes a text that names it,
//! with the content in another field: see [`crate::generated_images`].

use serde_json::{Value, json};

use super::answered_calls;
use super::block_out::{to_client, write_source};
use crate::adapt::restore_member;
use crate::context::ReplyContext;
use crate::generated_images;
use crate::neutral::{ANNOTATIONS, Block, Content, DIALECT_FIELDS, Map, without_dialect_fields};

/// A whole block.
pub(super) fn write_whole(block: &Block, context: &ReplyContext) -> Value {
    if let Some(call) = answered_calls::write(block) {
        return call;
    }
    match write_foreign(block) {
        Some((mut map, text)) => {
            map.insert("text".to_owned(), text.into());
            Value::Object(map)
        }
        None => with_object_input(write_own(block, context)),
    }
}

/// A block that Anthropic has too. Clients send their texts back, and Anthropic refuses the
/// annotations of OpenAI's.
fn write_own(block: &Block, context: &ReplyContext) -> Value {
    let mut value = to_client(block);
    match (&block.content, value.as_object_mut()) {
        (Content::Text(_), Some(map)) => drop(map.shift_remove(ANNOTATIONS)),
        (Content::ToolUse { .. }, Some(map)) => restore_member(map, context),
        _ => {}
    }
    value
}

/// Clients expect an object as the input of a call. Arguments that are none, such as the text of
/// a model that wrote no valid JSON, become a field of one.
fn with_object_input(mut block: Value) -> Value {
    let kind = block.get("type").and_then(Value::as_str);
    if matches!(kind, Some("tool_use" | "server_tool_use"))
        && let Some(input) = block.get_mut("input")
        && !input.is_object()
    {
        *input = json!({"input": input.take()});
    }
    block
}

/// A block at its start, and the text that follows as its one delta.
pub(super) fn write_start(block: &Block, context: &ReplyContext) -> (Value, Option<String>) {
    if let Some(call) = answered_calls::write(block) {
        return (call, None);
    }
    match write_foreign(block) {
        Some((map, text)) => (Value::Object(map), Some(text)),
        None => (write_own(block, context), None),
    }
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
            map.extend(other_fields(block));
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
pub(super) fn other_fields(block: &Block) -> Map {
    let mut rest = without_dialect_fields(&block.rest);
    if block.rest.contains_key(DIALECT_FIELDS) {
        rest.shift_remove("id");
        rest.shift_remove("status");
    }
    rest
}
