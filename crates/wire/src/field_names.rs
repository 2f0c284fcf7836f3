//! Messages, blocks and tools as steps of a path, and the names that clients have for
//! them and for what is inside them.

use std::fmt::Write as _;

use crate::ClientDialect;
use crate::fields::JsonPath;
use crate::neutral::{Block, ClientPath, Content, Map, MediaSource, Message, Tool};

/// The item at an index of one of the neutral conversation's lists.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PathItem<'a> {
    Message(&'a Message),
    Block(&'a Block),
    Tool(&'a Tool),
}

impl<'a> PathItem<'a> {
    pub(crate) fn client_path(self) -> &'a ClientPath {
        match self {
            PathItem::Message(message) => &message.client_path,
            PathItem::Block(block) => &block.client_path,
            PathItem::Tool(tool) => &tool.client_path,
        }
    }

    fn rest(self) -> &'a Map {
        match self {
            PathItem::Message(message) => &message.rest,
            PathItem::Block(block) => &block.rest,
            PathItem::Tool(tool) => &tool.rest,
        }
    }

    /// The client's name of a field inside the item, given the neutral one: `.title` of
    /// a document is `.file.filename` to a Chat client. Empty where the client has no
    /// name for it, so that the item itself is named.
    pub(crate) fn inside(self, client: ClientDialect, tail: &str) -> String {
        let key = tail.strip_prefix('.').unwrap_or_default();
        let key = key.split(['.', '[']).next().unwrap_or_default();
        if self.rest().contains_key(key) {
            return tail.to_owned();
        }
        let name = match self {
            PathItem::Message(_) => "",
            PathItem::Block(_) | PathItem::Tool(_) if key == "cache_control" => {
                self.client_path().cache_mark()
            }
            PathItem::Block(block) => match client {
                ClientDialect::Messages => return own_field(block, tail),
                ClientDialect::Chat => chat_field(&block.content, key),
                ClientDialect::Responses => responses_field(&block.content, key),
                ClientDialect::Gemini => gemini_field(&block.content, key),
            },
            PathItem::Tool(_) => match (client, key) {
                (ClientDialect::Chat, "strict") => ".function.strict",
                (ClientDialect::Gemini, _) => "",
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
            MediaSource::File(_) => ".file.file_id",
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
            MediaSource::Url(_) | MediaSource::File(_) => ".fileData",
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
            MediaSource::File(_) => ".file_id",
            _ => ".image_url",
        },
        (Content::Document { source, .. }, "source") => match source {
            MediaSource::File(_) => ".file_id",
            MediaSource::Url(_) => ".file_url",
            _ => ".file_data",
        },
        (Content::Document { .. }, "title") => ".filename",
        (Content::ToolResult { .. }, "tool_use_id") => ".call_id",
        (Content::ToolUse { .. }, "input") => ".arguments",
        _ => "",
    }
}

/// What a drop or an error names.
pub(crate) enum FieldName {
    /// A field of the client's body, by the client's name.
    Sent(String),
    /// A setting, by its neutral name.
    Setting(String),
    /// Something in the conversation that the client's body does not have, by its neutral
    /// name.
    Added(String),
}

impl FieldName {
    pub(crate) fn text(&self) -> &str {
        match self {
            FieldName::Sent(text) | FieldName::Setting(text) | FieldName::Added(text) => text,
        }
    }
}

/// What can be named by a drop or an error.
pub(crate) trait ToFieldName {
    fn field_name(&self) -> FieldName;
}

impl ToFieldName for &str {
    fn field_name(&self) -> FieldName {
        FieldName::Setting((*self).to_owned())
    }
}

impl ToFieldName for JsonPath<'_> {
    fn field_name(&self) -> FieldName {
        match self.known() {
            KnownPath::Setting => FieldName::Setting(self.to_string()),
            KnownPath::Added => FieldName::Added(self.to_string()),
            KnownPath::Sent(item, tail) => match item.client_path().get() {
                Some((client, path)) => {
                    FieldName::Sent(format!("{path}{}", item.inside(client, &tail)))
                }
                None => FieldName::Added(self.to_string()),
            },
        }
    }
}

impl ToFieldName for &JsonPath<'_> {
    fn field_name(&self) -> FieldName {
        JsonPath::field_name(self)
    }
}

/// What of a path is in the client's body.
enum KnownPath<'a> {
    /// A setting, or all of the body.
    Setting,
    /// Nothing: it was put into the conversation here.
    Added,
    /// An item it sent, and the neutral path inside it.
    Sent(PathItem<'a>, String),
}

impl<'a> JsonPath<'a> {
    pub(crate) fn message(&'a self, index: usize, message: &'a Message) -> JsonPath<'a> {
        JsonPath::Item(self, index, PathItem::Message(message))
    }

    pub(crate) fn block(&'a self, index: usize, block: &'a Block) -> JsonPath<'a> {
        JsonPath::Item(self, index, PathItem::Block(block))
    }

    pub(crate) fn tool(&'a self, index: usize, tool: &'a Tool) -> JsonPath<'a> {
        JsonPath::Item(self, index, PathItem::Tool(tool))
    }

    fn known(&self) -> KnownPath<'a> {
        match self {
            JsonPath::Root | JsonPath::Body(_) => KnownPath::Setting,
            JsonPath::Key(parent, key) => parent.known().with(|tail| {
                tail.push('.');
                tail.push_str(key);
            }),
            JsonPath::Index(parent, index) => parent.known().with(|tail| {
                let _ = write!(tail, "[{index}]");
            }),
            JsonPath::Item(_, _, item) if item.client_path().get().is_some() => {
                KnownPath::Sent(*item, String::new())
            }
            JsonPath::Item(parent, index, _) => match parent.known() {
                // Derived from a part of what the client sent.
                KnownPath::Sent(block @ PathItem::Block(_), tail) => {
                    KnownPath::Sent(block, format!("{tail}[{index}]"))
                }
                _ => KnownPath::Added,
            },
        }
    }
}

impl KnownPath<'_> {
    fn with(mut self, add: impl FnOnce(&mut String)) -> Self {
        if let KnownPath::Sent(_, tail) = &mut self {
            add(tail);
        }
        self
    }
}
