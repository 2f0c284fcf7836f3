//! Anthropic's content blocks, written.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{document_out, foreign_blocks};
use crate::Dialect;
use crate::arguments;
use crate::blank_messages::is_blank;
use crate::drops::Drops;
use crate::error::WireError;
use crate::fields::put;
use crate::generated_images;
use crate::json_path::JsonPath;
use crate::media_content::by_media_type;
use crate::neutral::{Block, Content, DIALECT_FIELDS, Map, MediaSource};
use crate::signature_envelope::{self, SignatureEnvelope};
use crate::tool_names::{safe_id, safe_name};

/// A block for a client: everything it holds that the dialect supports.
pub(crate) fn to_client(block: &Block) -> Value {
    let mut value = whole(block);
    if let Some(map) = value.as_object_mut() {
        map.shift_remove(DIALECT_FIELDS);
    }
    value
}

/// A block with all it holds, to be read again as it was.
pub(crate) fn whole(block: &Block) -> Value {
    let mut map = tagged(&block.content);
    put(&mut map, "cache_control", block.cache_control.clone());
    map.extend(block.rest.clone());
    Value::Object(map)
}

/// Writes blocks for an Anthropic model: what another provider's model or dialect
/// left in them cannot be sent.
pub(super) struct MessagesBlockWriter<'d> {
    /// Whether the blocks are in this dialect, so that `rest` belongs to it.
    pub(super) own: bool,
    /// Whether the client uses this dialect, so that Anthropic decides what it accepts.
    pub(super) by_client: bool,
    /// Whether the message being written is the model's, which cannot hold media.
    pub(super) from_model: bool,
    pub(super) drops: &'d mut Drops,
}

impl MessagesBlockWriter<'_> {
    /// Content: a string when one plain text is all there is.
    pub(super) fn content(
        &mut self,
        blocks: &[Block],
        path: &JsonPath<'_>,
    ) -> Result<Value, WireError> {
        if let [block] = blocks
            && block.is_plain()
            && let Content::Text(text) = &block.content
        {
            if !self.own {
                self.drops.rest(&path.block(0, block), &block.rest);
            }
            return Ok(Value::String(text.clone()));
        }
        let mut out = Vec::with_capacity(blocks.len());
        for (i, block) in blocks.iter().enumerate() {
            out.extend(self.block(block, &path.block(i, block))?);
        }
        Ok(Value::Array(out))
    }

    fn block(&mut self, block: &Block, path: &JsonPath<'_>) -> Result<Option<Value>, WireError> {
        let content = match self.by_client {
            true => Cow::Borrowed(&block.content),
            false => by_media_type(&block.content),
        };
        let mut map = match content.as_ref() {
            Content::Thinking { signature, .. } => {
                match signature_envelope::decode_envelope(signature) {
                    SignatureEnvelope::Anthropic(_) => tagged(&content),
                    _ => {
                        self.drops
                            .add(path, "a thought without Anthropic's signature");
                        return Ok(None);
                    }
                }
            }
            Content::ToolUse { id, name, input } => json_map(json!({
                "type": "tool_use",
                "id": safe_id(id),
                "name": safe_name(name),
                "input": arguments::to_object(input, path, self.drops),
            })),
            Content::ToolResult { .. } => self.tool_result(&content, path)?,
            Content::Text(text) if text.is_empty() || (!self.by_client && is_blank(text)) => {
                // Anthropic refuses empty text; OpenAI's clients send it with tool calls.
                self.drops.add(path, "empty text");
                return Ok(None);
            }
            Content::Image(_) | Content::Document { .. } if self.from_model => {
                self.drops.add(path, generated_images::NO_IMAGES_BACK);
                let text = generated_images::describe_media(&block.content).unwrap_or_default();
                return Ok(Some(json!({"type": "text", "text": text})));
            }
            content @ Content::Document { .. } => {
                let supported = document_out::supported_document(content, self.by_client, path)?;
                tagged(supported.as_ref().unwrap_or(content))
            }
            Content::Other { kind } if !self.own => {
                return Err(WireError::unsupported_part(Dialect::Messages, path, kind));
            }
            content => tagged(content),
        };
        put(&mut map, "cache_control", block.cache_control.clone());
        self.rest(&mut map, block, path);
        Ok(Some(Value::Object(map)))
    }

    fn tool_result(&mut self, content: &Content, path: &JsonPath<'_>) -> Result<Map, WireError> {
        let Content::ToolResult {
            tool_use_id,
            content,
            is_error,
        } = content
        else {
            return Ok(Map::new());
        };
        let mut map = json_map(json!({
            "type": "tool_result",
            "tool_use_id": safe_id(tool_use_id),
            "content": self.content(content, &path.key("content"))?,
        }));
        put(&mut map, "is_error", is_error.then_some(true));
        Ok(map)
    }

    fn rest(&mut self, map: &mut Map, block: &Block, path: &JsonPath<'_>) {
        if self.own {
            let (own, foreign) = foreign_blocks::divide_fields(block);
            map.extend(own);
            self.drops.rest(path, &foreign);
        } else {
            self.drops.rest(path, &block.rest);
        }
    }
}

fn tagged(content: &Content) -> Map {
    json_map(match content {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Image(source) => json!({"type": "image", "source": write_source(source)}),
        Content::Document { source, title } => {
            let mut map = json_map(json!({"type": "document", "source": write_source(source)}));
            put(&mut map, "title", title.clone());
            return map;
        }
        Content::ToolUse { id, name, input } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        Content::ToolResult {
            tool_use_id,
            content,
            is_error,
        } => json!({
            "type": "tool_result",
            "tool_use_id": tool_use_id,
            "content": content.iter().map(to_client).collect::<Vec<_>>(),
            "is_error": is_error,
        }),
        Content::Thinking {
            thinking,
            signature,
        } => json!({"type": "thinking", "thinking": thinking, "signature": signature}),
        Content::RedactedThinking { data } => json!({"type": "redacted_thinking", "data": data}),
        Content::ServerToolUse { id, name, input } => {
            json!({"type": "server_tool_use", "id": id, "name": name, "input": input})
        }
        Content::ServerToolResult {
            kind,
            tool_use_id,
            content,
        } => json!({"type": kind, "tool_use_id": tool_use_id, "content": content}),
        Content::Other { kind } => json!({"type": kind}),
    })
}

pub(super) fn write_source(source: &MediaSource) -> Value {
    match source {
        MediaSource::Base64 { media_type, data } => {
            json!({"type": "base64", "media_type": media_type, "data": data})
        }
        MediaSource::Text { media_type, data } => {
            json!({"type": "text", "media_type": media_type, "data": data})
        }
        MediaSource::Url(url) => json!({"type": "url", "url": url}),
        MediaSource::File(id) => json!({"type": "file", "file_id": id}),
        MediaSource::Blocks(blocks) => {
            json!({"type": "content", "content": blocks.iter().map(to_client).collect::<Vec<_>>()})
        }
        MediaSource::Other(map) => Value::Object(map.clone()),
    }
}

/// The object passed to `json!`; it is never anything else.
fn json_map(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
