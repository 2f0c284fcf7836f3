//! Paths of values in a document, for errors and drops. Readers and writers extend them step
//! by step; which names a client has for a path is the task of `item_names`.

use std::fmt::{self, Write as _};

use crate::ClientDialect;
use crate::neutral::{Block, ClientPath, Map, Message, Tool};

/// The path of a value in a document. On the stack; becomes text only for an error.
#[derive(Debug, Clone, Copy)]
pub(crate) enum JsonPath<'a> {
    Root,
    /// The root of a request as a client sent it: values read below it have a client path.
    Body(ClientDialect),
    Key(&'a JsonPath<'a>, &'a str),
    Index(&'a JsonPath<'a>, usize),
    /// An index whose item the writer has.
    Item(&'a JsonPath<'a>, usize, PathItem<'a>),
}

/// The lists of the neutral conversation that writers walk.
pub(crate) static SYSTEM: JsonPath<'static> = JsonPath::Key(&JsonPath::Root, "system");
pub(crate) static MESSAGES: JsonPath<'static> = JsonPath::Key(&JsonPath::Root, "messages");
pub(crate) static TOOLS: JsonPath<'static> = JsonPath::Key(&JsonPath::Root, "tools");

impl<'a> JsonPath<'a> {
    pub(crate) fn key(&'a self, key: &'a str) -> JsonPath<'a> {
        JsonPath::Key(self, key)
    }

    pub(crate) fn index(&'a self, index: usize) -> JsonPath<'a> {
        JsonPath::Index(self, index)
    }

    pub(crate) fn message(&'a self, index: usize, message: &'a Message) -> JsonPath<'a> {
        JsonPath::Item(self, index, PathItem::Message(message))
    }

    pub(crate) fn block(&'a self, index: usize, block: &'a Block) -> JsonPath<'a> {
        JsonPath::Item(self, index, PathItem::Block(block))
    }

    pub(crate) fn tool(&'a self, index: usize, tool: &'a Tool) -> JsonPath<'a> {
        JsonPath::Item(self, index, PathItem::Tool(tool))
    }

    /// The path for what is read here to remember, when this is a client's request.
    pub(crate) fn client_path(&self) -> ClientPath {
        match self.client() {
            Some(client) => ClientPath::new(client, self.text()),
            None => ClientPath::default(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::with_capacity(40);
        self.push_to(&mut text);
        text
    }

    fn push_to(&self, text: &mut String) {
        match self {
            JsonPath::Root | JsonPath::Body(_) => {}
            JsonPath::Key(parent, key) => {
                parent.push_to(text);
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            JsonPath::Index(parent, index) | JsonPath::Item(parent, index, _) => {
                parent.push_to(text);
                // Writing to a string cannot fail.
                let _ = write!(text, "[{index}]");
            }
        }
    }

    fn client(&self) -> Option<ClientDialect> {
        match self {
            JsonPath::Root => None,
            JsonPath::Body(client) => Some(*client),
            JsonPath::Key(parent, _) | JsonPath::Index(parent, _) | JsonPath::Item(parent, ..) => {
                parent.client()
            }
        }
    }
}

impl fmt::Display for JsonPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonPath::Root | JsonPath::Body(_) => f.write_str("body"),
            _ => f.write_str(&self.text()),
        }
    }
}

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

    pub(crate) fn rest(self) -> &'a Map {
        match self {
            PathItem::Message(message) => &message.rest,
            PathItem::Block(block) => &block.rest,
            PathItem::Tool(tool) => &tool.rest,
        }
    }
}

impl Message {
    /// The message, read from here.
    pub(crate) fn with_path(mut self, path: &JsonPath<'_>) -> Self {
        self.client_path = path.client_path();
        self
    }
}

impl Block {
    /// The block, read from here.
    pub(crate) fn with_path(mut self, path: &JsonPath<'_>) -> Self {
        self.client_path = path.client_path();
        self
    }
}
