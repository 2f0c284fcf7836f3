//! Conversations that Anthropic's servers have compacted: everything before the last summary
//! is dropped, so that other models read the summary alone. And those that OpenAI's servers are
//! to compact, which other models cannot.

use serde_json::Value;

use crate::Dialect;
use crate::error::WireError;
use crate::json_path::MESSAGES;
use crate::model_text;
use crate::neutral::{Block, Content, Message, Request, Role};

/// The item by which OpenAI's clients request a compaction. It is the last one of the input.
const TRIGGER: &str = "compaction_trigger";

/// Refuses a request for a compaction: any other model would go on with the conversation. Where
/// the compaction is in the conversation already, the item is not the last one.
pub(super) fn check_trigger(request: &Request, target: Dialect) -> Result<(), WireError> {
    let Some((m, message)) = request.messages.iter().enumerate().next_back() else {
        return Ok(());
    };
    let Some((b, block)) = message.content.iter().enumerate().next_back() else {
        return Ok(());
    };
    let is_trigger = matches!(&block.content, Content::Other { kind } if kind == TRIGGER);
    if request.origin != Dialect::Responses || !is_trigger {
        return Ok(());
    }
    let path = MESSAGES.message(m, message);
    let path = path.key("content");
    Err(WireError::unsupported(
        target,
        path.block(b, block),
        "only OpenAI's models compact a conversation with this item: \
         for others, use POST /v1/responses/compact",
    ))
}

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
