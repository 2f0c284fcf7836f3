//! What another vendor's servers left in the conversation of a Messages client, for Anthropic: it
//! refuses calls of tools that it does not have, and fields that are not its own.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use super::answered_calls::{named_kind, restore_text};
use crate::drops::Drops;
use crate::neutral::{
    Block, Content, DIALECT_FIELDS, Map, Message, split_calls, without_dialect_fields,
};
use crate::responses::translate_hosted_items;
use crate::server_call_ids::is_foreign;

/// The server tools that Anthropic knows.
const TOOLS: [&str; 8] = [
    "advisor",
    "bash_code_execution",
    "code_execution",
    "text_editor_code_execution",
    "tool_search_tool_bm25",
    "tool_search_tool_regex",
    "web_fetch",
    "web_search",
];
const SEARCH_RESULT: &str = "web_search_tool_result";
/// The sources of a text, as Bedrock has them.
const CITATIONS: &str = "citationsContent";

/// The conversation with ordinary calls and results in place of those of other vendors' servers
/// that Anthropic refuses.
pub(super) fn expand_refused_calls<'a>(
    messages: &'a [Message],
    drops: &mut Drops,
) -> Cow<'a, [Message]> {
    let messages = match with_items(messages) {
        Cow::Borrowed(messages) => translate_hosted_items(messages, drops),
        Cow::Owned(messages) => Cow::Owned(translate_hosted_items(&messages, drops).into_owned()),
    };
    let refused = refused_calls(&messages);
    let is_refused = |block: &Block, id: &str| is_item(block) || refused.contains(id);
    let mut blocks = messages.iter().flat_map(|message| &message.content);
    let has_refused =
        blocks.any(|block| server_call(block).is_some_and(|id| is_refused(block, id)));
    if !has_refused {
        return messages;
    }
    let kept = |block: &Block, id: &str| !is_refused(block, id);
    Cow::Owned(split_calls(&messages, &kept, drops).into_owned())
}

/// The conversation with items of OpenAI's servers in place of the texts that name them.
fn with_items(messages: &[Message]) -> Cow<'_, [Message]> {
    let mut blocks = messages.iter().flat_map(|message| &message.content);
    if !blocks.any(|block| restore_text(block).is_some()) {
        return Cow::Borrowed(messages);
    }
    let restored = |block: &Block| restore_text(block).unwrap_or_else(|| block.clone());
    let messages = messages.iter().map(|message| Message {
        content: message.content.iter().map(restored).collect(),
        ..message.clone()
    });
    Cow::Owned(messages.collect())
}

/// The id of a server tool's call, or of the call of a result.
fn server_call(block: &Block) -> Option<&str> {
    match &block.content {
        Content::ServerToolUse { id, .. }
        | Content::ServerToolResult {
            tool_use_id: id, ..
        } => Some(id),
        _ => None,
    }
}

/// Whether a block was read from an item of OpenAI's, which a run has as it came.
fn is_item(block: &Block) -> bool {
    block.rest.contains_key(DIALECT_FIELDS)
}

/// The calls of other vendors' servers that Anthropic refuses: those of tools that it does not
/// have, those without a result, and those with a result that it has no form for.
fn refused_calls(messages: &[Message]) -> HashSet<String> {
    let mut refused = HashSet::new();
    let mut called = HashSet::new();
    let mut answered = HashSet::new();
    for block in messages.iter().flat_map(|message| &message.content) {
        match &block.content {
            Content::ServerToolUse { id, name, .. } if is_foreign(id) => {
                called.insert(id.clone());
                if !TOOLS.contains(&name.as_str()) {
                    refused.insert(id.clone());
                }
            }
            Content::ServerToolResult {
                kind,
                tool_use_id: id,
                content,
            } if is_foreign(id) => {
                answered.insert(id.clone());
                if !is_accepted_result(kind, content) {
                    refused.insert(id.clone());
                }
            }
            _ => {}
        }
    }
    refused.extend(called.symmetric_difference(&answered).cloned());
    refused
}

/// Whether Anthropic accepts the content of a result. Pages that a search found have to be
/// encrypted by itself.
fn is_accepted_result(kind: &str, content: &Value) -> bool {
    match content {
        Value::Array(pages) => kind == SEARCH_RESULT && pages.is_empty(),
        Value::Object(result) => kind != SEARCH_RESULT || result.contains_key("error_code"),
        _ => false,
    }
}

/// The other fields of a block: Anthropic's, and those that only another vendor's model has left.
pub(super) fn divide_fields(block: &Block) -> (Map, Map) {
    let is_foreign_block = is_item(block) || server_call(block).is_some_and(is_foreign);
    let text = block.as_text();
    let named = text.and_then(named_kind);
    let fields = without_dialect_fields(&block.rest).into_iter();
    fields.partition(|(key, _)| {
        let is_source = text.is_some() && key == CITATIONS;
        !is_foreign_block && !is_source && named != Some(key.as_str())
    })
}
