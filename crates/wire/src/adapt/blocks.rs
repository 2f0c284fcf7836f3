//! Blocks specific to one vendor's servers, as text and calls that any model can read.

use std::collections::HashSet;

use serde_json::Value;

use super::deferred_tools::changed_tool;
use super::items::{self, AdaptedItem};
use super::results;
use super::toolsets::TOOLSET_NAME;
use crate::Dialect;
use crate::drops::Drops;
use crate::json_path::{JsonPath, MESSAGES};
use crate::model_text;
use crate::neutral::{Block, Content, Map, Request};
use crate::tool_names::member_name;

/// Rewrites the blocks of a conversation.
pub(super) fn adapt(request: &mut Request, target: Dialect, drops: &mut Drops) {
    let mut messages = std::mem::take(&mut request.messages);
    let offered = request.tools.iter().map(|tool| tool.name.as_str());
    let mut adapter = BlockAdapter {
        request,
        target,
        offered: offered.collect(),
        drops,
    };
    let mut m = 0;
    messages.retain_mut(|message| {
        let before = std::mem::take(&mut message.content);
        let path = MESSAGES.message(m, message);
        let path = path.key("content");
        m += 1;
        let was_empty = before.is_empty();
        let blocks = before.into_iter().enumerate();
        let adapted = blocks.filter_map(|(b, block)| {
            let known = block.clone();
            adapter.block(block, &path.block(b, &known))
        });
        message.content = adapted.collect();
        was_empty || !message.content.is_empty()
    });
    request.messages = messages;
}

struct BlockAdapter<'a> {
    request: &'a Request,
    target: Dialect,
    /// The names of the tools that the model is offered.
    offered: HashSet<&'a str>,
    drops: &'a mut Drops,
}

impl BlockAdapter<'_> {
    fn block(&mut self, mut block: Block, path: &JsonPath<'_>) -> Option<Block> {
        match items::adapt(&block, self.request) {
            AdaptedItem::Unchanged => {}
            AdaptedItem::Removed => return None,
            AdaptedItem::Replaced(content) => return Some(with_content(content, block)),
        }
        let kind = match &mut block.content {
            Content::Other { kind } => kind.clone(),
            Content::ToolUse { name, .. } if self.request.origin == Dialect::Messages => {
                if let Some(Value::String(toolset)) = block.rest.shift_remove(TOOLSET_NAME) {
                    *name = member_name(&toolset, name);
                }
                return Some(block);
            }
            Content::ToolResult { content, .. } => {
                let path = path.key("content");
                let inner = std::mem::take(content).into_iter().enumerate();
                *content = inner
                    .filter_map(|(i, inner)| {
                        let known = inner.clone();
                        self.block(inner, &path.block(i, &known))
                    })
                    .collect();
                // Some clients repeat fields of the call.
                block.rest.shift_remove("name");
                block.rest.shift_remove("namespace");
                block.rest.shift_remove(TOOLSET_NAME);
                return Some(block);
            }
            Content::ServerToolResult { kind, content, .. } => {
                if let Some(text) = results::text(kind, content, &mut block.rest) {
                    *content = Value::String(text);
                }
                return Some(block);
            }
            _ => return Some(block),
        };
        self.other(&kind, block, path)
    }

    /// A block of a kind that no dialect's writer supports.
    fn other(&mut self, kind: &str, block: Block, path: &JsonPath<'_>) -> Option<Block> {
        let text = |key: &str| block.rest.get(key).and_then(Value::as_str);
        let content = match kind {
            "tool_reference" => Content::Text(self.reference(text("tool_name")?)),
            "tool_addition" | "tool_removal" => Content::Text(self.change(kind, &block.rest)?),
            "mid_conv_system" => {
                Content::Text(model_text::tagged_system(&self.instructions(&block.rest)))
            }
            "search_result" => Content::Text(results::search_result(&block.rest)),
            "browser_state" => Content::Text(results::browser_state(&block.rest)),
            "mcp_tool_use" => Content::ServerToolUse {
                id: text("id")?.to_owned(),
                name: member_name(text("server_name").unwrap_or_default(), text("name")?),
                input: block.rest.get("input").cloned().unwrap_or_default(),
            },
            "container_upload" if self.target != Dialect::Messages => {
                self.drops
                    .add(path, "a file for a container that this model does not have");
                Content::Text(model_text::no_upload(text("file_id").unwrap_or_default()))
            }
            "fallback" | "mcp_tool_listing" => {
                self.drops.add(path, "specific to its vendor's servers");
                return None;
            }
            // Compaction that failed on the servers; a summary is at the beginning.
            "compaction" if text("encrypted_content").is_none() => return None,
            _ => return Some(block),
        };
        Some(with_content(content, block))
    }

    fn reference(&self, name: &str) -> String {
        model_text::found(name, self.offered.contains(name))
    }

    fn change(&self, kind: &str, fields: &Map) -> Option<String> {
        let name = changed_tool(fields.get("tool")?)?;
        Some(match kind {
            "tool_addition" => self.reference(name),
            _ => model_text::found(name, false),
        })
    }

    fn instructions(&self, fields: &Map) -> String {
        let parts = fields.get("content").and_then(Value::as_array);
        let lines = parts.into_iter().flatten().filter_map(|part| {
            let kind = part.get("type")?.as_str()?;
            match kind {
                "text" => Some(part.get("text")?.as_str()?.to_owned()),
                _ => self.change(kind, part.as_object()?),
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Other content in the place of a block.
fn with_content(content: Content, block: Block) -> Block {
    Block {
        cache_control: block.cache_control,
        client_path: block.client_path,
        ..Block::new(content)
    }
}
