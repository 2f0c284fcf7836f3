//! Messages, blocks and tools as steps of a path, and the names that clients have for
//! what is inside them.

use crate::Client;
use crate::neutral::{Block, ClientPath, Content, Map, Message, Source, Tool};

/// What stands at an index of one of the neutral conversation's lists.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item<'a> {
    Message(&'a Message),
    Block(&'a Block),
    Tool(&'a Tool),
}

impl<'a> Item<'a> {
    pub(crate) fn client_path(self) -> &'a ClientPath {
        match self {
            Item::Message(message) => &message.client_path,
            Item::Block(block) => &block.client_path,
            Item::Tool(tool) => &tool.client_path,
        }
    }

    fn rest(self) -> &'a Map {
        match self {
            Item::Message(message) => &message.rest,
            Item::Block(block) => &block.rest,
            Item::Tool(tool) => &tool.rest,
        }
    }

    /// What is inside the item in the client's words, given in neutral ones: `.title` of
    /// a document is `.file.filename` to a Chat client. Empty where the client has no
    /// name for it, so that the item itself is named.
    pub(crate) fn inside(self, client: Client, tail: &str) -> String {
        let key = tail.strip_prefix('.').unwrap_or_default();
        let key = key.split(['.', '[']).next().unwrap_or_default();
        if self.rest().contains_key(key) {
            return tail.to_owned();
        }
        let name = match self {
            Item::Message(_) => "",
            Item::Block(_) | Item::Tool(_) if key == "cache_control" => self.client_path().mark(),
            Item::Block(block) => match client {
                Client::Messages => return own_field(block, tail),
                Client::Chat => chat_field(&block.content, key),
                Client::Responses => responses_field(&block.content, key),
                Client::Gemini => gemini_field(&block.content, key),
            },
            Item::Tool(_) => match (client, key) {
                (Client::Chat, "strict") => ".function.strict",
                (Client::Gemini, _) => "",
                (_, "strict") => ".strict",
                _ => "",
            },
        };
        name.to_owned()
    }
}

/// The neutral conversation has Anthropic's names.
fn own_field(block: &Block, tail: &str) -> String {
    match &block.content {
        // These may be a string in the body, with nothing inside.
        Content::Text(_) => String::new(),
        _ => tail.to_owned(),
    }
}

fn chat_field(content: &Content, key: &str) -> &'static str {
    match (content, key) {
        (Content::Image(_), "source") => ".image_url",
        (Content::Document { source, .. }, "source") => match source {
            Source::File(_) => ".file.file_id",
            _ => ".file.file_data",
        },
        (Content::Document { .. }, "title") => ".file.filename",
        (Content::ToolResult { .. }, "tool_use_id") => ".tool_call_id",
        (Content::ToolUse { .. }, "input") => ".function.arguments",
        _ => "",
    }
}

fn gemini_field(content: &Content, key: &str) -> &'static str {
    match (content, key) {
        (Content::Image(source) | Content::Document { source, .. }, "source") => match source {
            Source::Url(_) | Source::File(_) => ".fileData",
            _ => ".inlineData",
        },
        (Content::ToolResult { .. }, "tool_use_id") => ".functionResponse",
        (Content::ToolUse { .. }, "input") => ".functionCall.args",
        _ => "",
    }
}

fn responses_field(content: &Content, key: &str) -> &'static str {
    match (content, key) {
        (Content::Image(source), "source") => match source {
            Source::File(_) => ".file_id",
            _ => ".image_url",
        },
        (Content::Document { source, .. }, "source") => match source {
            Source::File(_) => ".file_id",
            Source::Url(_) => ".file_url",
            _ => ".file_data",
        },
        (Content::Document { .. }, "title") => ".filename",
        (Content::ToolResult { .. }, "tool_use_id") => ".call_id",
        (Content::ToolUse { .. }, "input") => ".arguments",
        _ => "",
    }
}
