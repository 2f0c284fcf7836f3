//! Estimates the number of tokens of a request, where no upstream counts them.

use serde_json::Value;

use super::{Block, Content, MediaSource, Request, Tool, ToolKind};

/// Bytes of Latin text that make a token.
const BYTES_PER_TOKEN: u64 = 4;
/// What an image of usual size costs.
const IMAGE_TOKENS: u64 = 1_600;
/// Bytes of a PDF in base64 that make a token: a page of some 100 kB has about 2,000.
const DOCUMENT_BYTES_PER_TOKEN: u64 = 60;
/// What surrounds a message or a tool.
const OVERHEAD_TOKENS: u64 = 4;

/// About how many tokens a request has. Good to a quarter or so for text; every model
/// counts otherwise.
pub fn estimate_tokens(request: &Request) -> u64 {
    let system: u64 = request.system.iter().map(block).sum();
    let messages = request.messages.iter();
    let messages: u64 = messages
        .map(|message| OVERHEAD_TOKENS + message.content.iter().map(block).sum::<u64>())
        .sum();
    let tools = request.tools.iter().map(tool);
    system
        .saturating_add(messages)
        .saturating_add(tools.sum())
        .max(1)
}

fn tool(tool: &Tool) -> u64 {
    let about = |about: &Option<String>| text(about.as_deref().unwrap_or_default());
    let kind = match &tool.kind {
        ToolKind::Function {
            description,
            input_schema,
            ..
        } => about(description) + json(input_schema),
        ToolKind::Freeform { description } => about(description),
        ToolKind::Server { .. } => json(&Value::Object(tool.rest.clone())),
    };
    OVERHEAD_TOKENS + text(&tool.name) + kind
}

fn block(block: &Block) -> u64 {
    match &block.content {
        Content::Text(content) => text(content),
        Content::Image(_) => IMAGE_TOKENS,
        Content::Document { source: from, .. } => source(from),
        Content::ToolUse { name, input, .. } | Content::ServerToolUse { name, input, .. } => {
            OVERHEAD_TOKENS + text(name) + json(input)
        }
        Content::ToolResult { content, .. } => {
            OVERHEAD_TOKENS + content.iter().map(self::block).sum::<u64>()
        }
        Content::ServerToolResult { content, .. } => OVERHEAD_TOKENS + json(content),
        Content::Thinking { thinking, .. } => text(thinking),
        Content::RedactedThinking { data } => text(data),
        Content::Other { .. } => json(&Value::Object(block.rest.clone())),
    }
}

fn source(source: &MediaSource) -> u64 {
    match source {
        MediaSource::Base64 { data, .. } => data.len() as u64 / DOCUMENT_BYTES_PER_TOKEN,
        MediaSource::Text { data, .. } => text(data),
        MediaSource::Blocks(blocks) => blocks.iter().map(block).sum(),
        // The size of remote content is unknown.
        MediaSource::Url(_) | MediaSource::File(_) | MediaSource::Other(_) => IMAGE_TOKENS,
    }
}

fn json(value: &Value) -> u64 {
    text(&value.to_string())
}

/// Letters outside ASCII are mostly tokens of their own.
pub(crate) fn text(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let others = text.chars().filter(|c| !c.is_ascii()).count() as u64;
    ascii.div_ceil(BYTES_PER_TOKEN) + others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dialect;
    use crate::neutral::Message;

    #[test]
    fn all_texts_images_and_tools_count() {
        let mut request = Request::new(Dialect::Messages, "m");
        assert_eq!(estimate_tokens(&request), 1);
        request.messages.push(Message::user("a".repeat(400)));
        assert_eq!(estimate_tokens(&request), 104);
        request.messages.push(Message::user("漢字"));
        assert_eq!(estimate_tokens(&request), 110);
        let image = Content::Image(MediaSource::Url("https://a.test/b.png".to_owned()));
        request.system.push(Block::new(image));
        assert_eq!(estimate_tokens(&request), 1_710);
        let schema = serde_json::json!({"type": "object"});
        request.tools.push(Tool::function("look", "Looks.", schema));
        assert_eq!(estimate_tokens(&request), 1_722);
    }
}
