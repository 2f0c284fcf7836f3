//! Past calls of server tools as ordinary calls and results, for dialects without them.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use super::{Block, Content, DIALECT_FIELDS, Message, Role};
use crate::drops::Drops;
use crate::json_path::JsonPath;
use crate::responses::translate_hosted_items;

/// Splits every assistant message at the results of server tools, so that a model of
/// any provider sees which tools ran and their results. A call without a result (a
/// paused turn) is dropped and reported.
pub(crate) fn expand_server_calls<'a>(
    messages: &'a [Message],
    drops: &mut Drops,
) -> Cow<'a, [Message]> {
    expand_server_calls_except(messages, &|_| false, drops)
}

/// The same, but calls with certain ids remain server calls.
pub(crate) fn expand_server_calls_except<'a>(
    messages: &'a [Message],
    kept: &dyn Fn(&str) -> bool,
    drops: &mut Drops,
) -> Cow<'a, [Message]> {
    match translate_hosted_items(messages, drops) {
        Cow::Borrowed(messages) => split_calls(messages, &|_, id| kept(id), drops),
        Cow::Owned(messages) => {
            Cow::Owned(split_calls(&messages, &|_, id| kept(id), drops).into_owned())
        }
    }
}

/// The same for Responses, whose own items remain unchanged.
pub(crate) fn expand_server_calls_for_responses<'a>(
    messages: &'a [Message],
    drops: &mut Drops,
) -> Cow<'a, [Message]> {
    split_calls(
        messages,
        &|block, _| block.rest.contains_key(DIALECT_FIELDS),
        drops,
    )
}

/// Splits messages at the results of server tools, except those of calls that are kept.
pub(crate) fn split_calls<'a>(
    messages: &'a [Message],
    kept: &dyn Fn(&Block, &str) -> bool,
    drops: &mut Drops,
) -> Cow<'a, [Message]> {
    let blocks = || messages.iter().flat_map(|message| &message.content);
    let answered: HashSet<&str> = blocks()
        .filter_map(|block| match &block.content {
            Content::ServerToolResult { tool_use_id, .. } => Some(tool_use_id.as_str()),
            _ => None,
        })
        .collect();
    let called: HashSet<&str> = blocks()
        .filter_map(|block| match &block.content {
            Content::ServerToolUse { id, .. } | Content::ToolUse { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    let any = blocks().any(|block| matches!(block.content, Content::ServerToolUse { .. }));
    if !any && answered.is_empty() {
        return Cow::Borrowed(messages);
    }
    let mut out: Vec<Message> = Vec::with_capacity(messages.len() + answered.len() * 2);
    for (m, message) in messages.iter().enumerate() {
        let mut open = Message {
            content: Vec::new(),
            ..message.clone()
        };
        for (b, block) in message.content.iter().enumerate() {
            match &block.content {
                Content::ServerToolUse { id, .. }
                | Content::ServerToolResult {
                    tool_use_id: id, ..
                } if kept(block, id) => open.content.push(block.clone()),
                Content::ServerToolUse { id, name, input } if answered.contains(id.as_str()) => {
                    open.content.push(Block {
                        client_path: block.client_path.clone(),
                        ..Block::tool_use(id, name, input.clone())
                    });
                }
                Content::ServerToolUse { .. } => {
                    let path = JsonPath::Root.key("messages");
                    drops.add(
                        path.index(m).key("content").block(b, block),
                        "a server tool call without a result",
                    );
                }
                Content::ServerToolResult { tool_use_id, .. }
                    if !called.contains(tool_use_id.as_str()) =>
                {
                    let path = JsonPath::Root.key("messages");
                    drops.add(
                        path.index(m).key("content").block(b, block),
                        "a result without its call",
                    );
                }
                Content::ServerToolResult {
                    tool_use_id,
                    content,
                    ..
                } => {
                    flush(&mut out, &mut open);
                    push_result(&mut out, block, tool_use_id, content);
                }
                _ => open.content.push(block.clone()),
            }
        }
        flush(&mut out, &mut open);
    }
    Cow::Owned(out)
}

fn flush(out: &mut Vec<Message>, open: &mut Message) {
    if !open.content.is_empty() {
        let content = std::mem::take(&mut open.content);
        out.push(Message {
            content,
            ..open.clone()
        });
    }
}

fn push_result(out: &mut Vec<Message>, source: &Block, id: &str, content: &Value) {
    let block = Block {
        client_path: source.client_path.clone(),
        ..Block::tool_result(id, result_text(content))
    };
    match out.last_mut() {
        Some(Message {
            role: Role::User,
            content,
            ..
        }) => content.push(block),
        _ => out.push(Message::new(Role::User, vec![block])),
    }
}

/// A server tool's result as the text a model reads.
fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
