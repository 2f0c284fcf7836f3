//! Messages, blocks and tools as steps of a path, and the names that clients have for
//! them and for what is inside them.

use std::fmt::Write as _;

use crate::Client;
use crate::fields::Path;
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

/// What a drop or an error names.
pub(crate) enum Name {
    /// Something of the client's body, in the client's words.
    Sent(String),
    /// A setting, in neutral words.
    Setting(String),
    /// Something in the conversation that the client's body does not have, in neutral
    /// words.
    Added(String),
}

impl Name {
    pub(crate) fn text(&self) -> &str {
        match self {
            Name::Sent(text) | Name::Setting(text) | Name::Added(text) => text,
        }
    }
}

/// What can be named by a drop or an error.
pub(crate) trait Field {
    fn name(&self) -> Name;
}

impl Field for &str {
    fn name(&self) -> Name {
        Name::Setting((*self).to_owned())
    }
}

impl Field for Path<'_> {
    fn name(&self) -> Name {
        match self.known() {
            Known::Setting => Name::Setting(self.to_string()),
            Known::Added => Name::Added(self.to_string()),
            Known::Sent(item, tail) => match item.client_path().get() {
                Some((client, path)) => Name::Sent(format!("{path}{}", item.inside(client, &tail))),
                None => Name::Added(self.to_string()),
            },
        }
    }
}

impl Field for &Path<'_> {
    fn name(&self) -> Name {
        Path::name(self)
    }
}

/// What of a path the client knows.
enum Known<'a> {
    /// A setting, or all of the body.
    Setting,
    /// Nothing: it was put into the conversation here.
    Added,
    /// An item it sent, and what inside it is meant, in neutral words.
    Sent(Item<'a>, String),
}

impl<'a> Path<'a> {
    pub(crate) fn message(&'a self, index: usize, message: &'a Message) -> Path<'a> {
        Path::Item(self, index, Item::Message(message))
    }

    pub(crate) fn block(&'a self, index: usize, block: &'a Block) -> Path<'a> {
        Path::Item(self, index, Item::Block(block))
    }

    pub(crate) fn tool(&'a self, index: usize, tool: &'a Tool) -> Path<'a> {
        Path::Item(self, index, Item::Tool(tool))
    }

    fn known(&self) -> Known<'a> {
        match self {
            Path::Root | Path::Body(_) => Known::Setting,
            Path::Key(parent, key) => parent.known().with(|tail| {
                tail.push('.');
                tail.push_str(key);
            }),
            Path::Index(parent, index) => parent.known().with(|tail| {
                let _ = write!(tail, "[{index}]");
            }),
            Path::Item(_, _, item) if item.client_path().get().is_some() => {
                Known::Sent(*item, String::new())
            }
            Path::Item(parent, index, _) => match parent.known() {
                // Something made of a part of what the client sent.
                Known::Sent(block @ Item::Block(_), tail) => {
                    Known::Sent(block, format!("{tail}[{index}]"))
                }
                _ => Known::Added,
            },
        }
    }
}

impl Known<'_> {
    fn with(mut self, add: impl FnOnce(&mut String)) -> Self {
        if let Known::Sent(_, tail) = &mut self {
            add(tail);
        }
        self
    }
}
