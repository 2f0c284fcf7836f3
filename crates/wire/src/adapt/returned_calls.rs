//! Calls that another vendor's servers answered, as a Messages client sends them back: they become
//! again what they were, as far as the client has kept it.
//!
//! Items of OpenAI's servers go back to the Responses API as such. Models of other vendors read
//! them as ordinary calls with results, like all such items. Code that Google ran goes back to
//! Gemini. Everything else is a server tool's call, which all other writers expand.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::Dialect;
use crate::anthropic::{restore_call, restore_google_code, restore_text};
use crate::drops::Drops;
use crate::json_path::{JsonPath, MESSAGES};
use crate::neutral::{Block, Content, Message, Request, Role};
use crate::responses::translate_hosted_items;
use crate::server_call_ids::is_foreign;
use crate::signature_envelope::{SignatureEnvelope, decode_envelope};

/// Whether there is anything to restore.
pub(super) fn has_any(request: &Request) -> bool {
    let mut blocks = request.messages.iter().flat_map(|m| &m.content);
    request.origin == Dialect::Messages
        && blocks.any(|block| match &block.content {
            Content::ServerToolUse { id, .. } => is_foreign(id),
            Content::Text(_) => restore_text(block).is_some(),
            _ => false,
        })
}

/// Restores the calls of a conversation.
pub(super) fn restore(request: &mut Request, target: Dialect, drops: &mut Drops) {
    if !has_any(request) {
        return;
    }
    let messages = std::mem::take(&mut request.messages);
    let mut restorer = Restorer {
        target,
        results: results(&messages),
        restored: HashSet::new(),
        drops,
    };
    for (m, message) in messages.into_iter().enumerate() {
        match message.role {
            Role::Assistant => request.messages.extend(restorer.message(m, message)),
            Role::User | Role::System => request.messages.push(message),
        }
    }
}

/// The result of a call.
struct CallResult {
    content: Value,
    cache_control: Option<Value>,
}

fn results(messages: &[Message]) -> HashMap<String, CallResult> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    let results = blocks.filter_map(|block| match &block.content {
        Content::ServerToolResult {
            tool_use_id,
            content,
            ..
        } if is_foreign(tool_use_id) => {
            let result = CallResult {
                content: content.clone(),
                cache_control: block.cache_control.clone(),
            };
            Some((tool_use_id.clone(), result))
        }
        _ => None,
    });
    results.collect()
}

/// What becomes of a block.
enum Returned {
    Unchanged,
    /// A part of the item before it.
    Removed,
    Code(Block),
    Item(Block),
}

struct Restorer<'d> {
    target: Dialect,
    results: HashMap<String, CallResult>,
    /// The calls that are items again, with their results.
    restored: HashSet<String>,
    drops: &'d mut Drops,
}

impl Restorer<'_> {
    fn message(&mut self, m: usize, mut message: Message) -> Vec<Message> {
        let before = std::mem::take(&mut message.content);
        let mut content = Vec::with_capacity(before.len());
        let mut first_item = None;
        let path = MESSAGES.message(m, &message);
        let path = path.key("content");
        for (b, block) in before.iter().enumerate() {
            match self.block(block, &path.block(b, block)) {
                Returned::Unchanged => content.push(block.clone()),
                Returned::Removed => {}
                Returned::Code(code) => content.push(code),
                Returned::Item(item) => {
                    first_item.get_or_insert(content.len());
                    content.push(item);
                }
            }
        }
        if content.is_empty() && !before.is_empty() {
            return Vec::new();
        }
        let follows_thought =
            first_item.is_none_or(|at| content.iter().take(at).any(is_openais_thought));
        message.content = content;
        // OpenAI refuses an item of a model that thinks without the thought before it, which a
        // client may have removed.
        if self.target == Dialect::Responses && !follows_thought {
            return translate_hosted_items(std::slice::from_ref(&message), self.drops).into_owned();
        }
        vec![message]
    }

    fn block(&mut self, block: &Block, path: &JsonPath<'_>) -> Returned {
        if self.target == Dialect::Gemini
            && let Some(code) = restore_google_code(block)
        {
            return Returned::Code(code);
        }
        match &block.content {
            Content::ServerToolUse { id, .. } => {
                let result = self.results.get(id);
                let Some(mut item) = restore_call(block, result.map(|result| &result.content))
                else {
                    return Returned::Unchanged;
                };
                let mark = result.and_then(|result| result.cache_control.clone());
                item.cache_control = item.cache_control.or(mark);
                self.restored.insert(id.clone());
                Returned::Item(item)
            }
            Content::ServerToolResult { tool_use_id, .. }
                if self.restored.contains(tool_use_id) =>
            {
                self.drops.rest(path, &block.rest);
                Returned::Removed
            }
            Content::Text(_) => restore_text(block).map_or(Returned::Unchanged, Returned::Item),
            _ => Returned::Unchanged,
        }
    }
}

fn is_openais_thought(block: &Block) -> bool {
    match &block.content {
        Content::Thinking { signature, .. } => {
            matches!(decode_envelope(signature), SignatureEnvelope::OpenAi { .. })
        }
        _ => false,
    }
}
