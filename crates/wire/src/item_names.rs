//! The names that clients have for messages, blocks and tools, and for what is inside them.

use std::fmt::Write as _;

use crate::ClientDialect;
use crate::field_name::{FieldName, ToFieldName};
use crate::json_path::{JsonPath, PathItem};
use crate::neutral::{Block, Content, MediaSource};

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

impl PathItem<'_> {
    /// The client's name of a field inside the item, given the neutral one: `.title` of
    /// a document is `.file.filename` to a Chat client. Empty where the client has no
    /// name for it, so that the item itself is named.
    fn inside(self, client: ClientDialect, tail: &str) -> String {
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
        let name = match client {
            ClientDialect::Chat if self.is_former_function() => {
                name.strip_prefix(".function").unwrap_or(name)
            }
            _ => name,
        };
        name.to_owned()
    }

    /// Whether a Chat client offered a function, or called one, in the form before tools,
    /// without an object `function` around it.
    fn is_former_function(self) -> bool {
        let path = self.client_path().get().map_or("", |(_, path)| path);
        path.starts_with("functions[") || path.ends_with(".function_call")
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
