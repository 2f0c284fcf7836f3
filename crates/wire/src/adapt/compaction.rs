//! Conversations that Anthropic's servers have compacted: everything before the last summary
//! is dropped, so that other models read the summary alone.

use serde_json::Value;

use crate::model_text;
use crate::neutral::{Block, Content, Message, Request, Role};

/// Puts the last summary in the place of all before it.
pub(super) fn adapt(request: &mut Request) {
    let places = request
        .messages
        .iter()
        .enumerate()
        .flat_map(|(m, message)| {
            let blocks = message.content.iter().enumerate();
            blocks.filter_map(move |(b, block)| Some((m, b, summary(block)?.to_owned())))
        });
    let Some((m, b, text)) = places.last() else {
        return;
    };
    let mut kept = request.messages.split_off(m);
    if let Some(first) = kept.first_mut() {
        first.content.drain(..=b);
        if first.content.is_empty() {
            kept.remove(0);
        }
    }
    let summary = Message::new(Role::User, vec![Block::text(model_text::summary(&text))]);
    request.messages = std::iter::once(summary).chain(kept).collect();
}

fn summary(block: &Block) -> Option<&str> {
    match &block.content {
        Content::Other { kind } if kind == "compaction" => {
            let text = block.rest.get("content").and_then(Value::as_str);
            text.filter(|text| !text.is_empty())
        }
        _ => None,
    }
}
