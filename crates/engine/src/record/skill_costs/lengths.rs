//! Lengths of what a prompt consists of, in bytes as text. Nothing is copied.

use std::io;

use prowess_wire::neutral::{Block, Content, MediaSource, Tool, ToolKind};
use serde::Serialize;

/// Bytes of an image or a document, at most: tokens of media do not follow from their bytes.
pub(super) const MEDIA_BYTES: usize = 6_000;

/// The length of a block.
pub(super) fn block_bytes(block: &Block) -> usize {
    match &block.content {
        Content::Text(text) => text.len(),
        Content::Image(source) | Content::Document { source, .. } => media_bytes(source),
        Content::ToolUse { name, input, .. } | Content::ServerToolUse { name, input, .. } => {
            call_bytes(name, input)
        }
        Content::ToolResult { content, .. } => content.iter().map(block_bytes).sum(),
        Content::Thinking { thinking, .. } => thinking.len(),
        // Encrypted: its length says little about its tokens.
        Content::RedactedThinking { data } => data.len().min(MEDIA_BYTES),
        Content::ServerToolResult { content, .. } => json_bytes(content),
        Content::Other { .. } => json_bytes(&block.rest),
    }
}

/// The length of a call.
pub(super) fn call_bytes(name: &str, input: &serde_json::Value) -> usize {
    name.len() + json_bytes(input)
}

/// The length of a tool's description.
pub(super) fn tool_bytes(tool: &Tool) -> usize {
    let about = match &tool.kind {
        ToolKind::Function {
            description,
            input_schema,
            ..
        } => description.as_ref().map_or(0, String::len) + json_bytes(input_schema),
        _ => 0,
    };
    // An empty object is two bytes.
    tool.name.len() + about + json_bytes(&tool.rest).saturating_sub(2)
}

fn media_bytes(source: &MediaSource) -> usize {
    match source {
        MediaSource::Base64 { data, .. } => data.len().min(MEDIA_BYTES),
        MediaSource::Text { data, .. } => data.len(),
        MediaSource::Blocks(blocks) => blocks.iter().map(block_bytes).sum(),
        MediaSource::Url(_) | MediaSource::File(_) | MediaSource::Other(_) => MEDIA_BYTES,
    }
}

/// The length of a value as JSON.
pub(super) fn json_bytes(value: &impl Serialize) -> usize {
    let mut counter = ByteCounter(0);
    // It fails only where the writer does.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// Counts what is written.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
