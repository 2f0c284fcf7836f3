//! Blocks of an answer, as a Messages client is told of them.
//!
//! Anthropic's own blocks go as they are. What another vendor's model made and Anthropic
//! has no block for is a text that names it, with what was made in a field beside it: see
//! [`crate::pictures`].

use serde_json::Value;

use super::block_out::{to_client, write_source};
use crate::neutral::{Block, Content, Map, OWN, without_own};
use crate::pictures;

/// A whole block.
pub(super) fn whole(block: &Block) -> Value {
    match foreign(block) {
        Some((mut map, text)) => {
            map.insert("text".to_owned(), text.into());
            Value::Object(map)
        }
        None => to_client(block),
    }
}

/// A block at its start, and the text that follows as its one delta.
pub(super) fn start(block: &Block) -> (Value, Option<String>) {
    match foreign(block) {
        Some((map, text)) => (Value::Object(map), Some(text)),
        None => (to_client(block), None),
    }
}

/// A block that is not Anthropic's: with an empty text, and that text.
fn foreign(block: &Block) -> Option<(Map, String)> {
    let mut map = Map::from_iter([
        ("type".to_owned(), "text".into()),
        ("text".to_owned(), "".into()),
    ]);
    let text = match &block.content {
        Content::Image(source) | Content::Document { source, .. } => {
            map.insert("source".to_owned(), write_source(source));
            map.extend(said_beside(block));
            pictures::label(&block.content)?
        }
        // Gemini's and Converse's parts have names of this form, Anthropic's blocks none.
        Content::Other { kind } if kind.contains(|c: char| c.is_ascii_uppercase()) => {
            map.extend(said_beside(block));
            format!("[{kind}]")
        }
        _ => return None,
    };
    Some((map, text))
}

/// What stands beside the content. The id and status of another dialect's item mean
/// nothing here.
fn said_beside(block: &Block) -> Map {
    let mut rest = without_own(&block.rest);
    if block.rest.contains_key(OWN) {
        rest.shift_remove("id");
        rest.shift_remove("status");
    }
    rest
}
