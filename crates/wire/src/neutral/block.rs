//! Messages and their blocks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ClientPath, DIALECT_FIELDS, Map};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The client, and the results of the tools it ran.
    User,
    /// The model.
    Assistant,
    /// Instructions in the middle of a conversation.
    System,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The content; tool results come first in a user message.
    pub content: Vec<Block>,
    /// Fields of the original dialect that no codec understands.
    pub rest: Map,
    /// The path of the message with the fields of `rest` in the client's body.
    pub client_path: ClientPath,
}

impl Message {
    /// A message of blocks.
    pub fn new(role: Role, content: Vec<Block>) -> Self {
        Message {
            role,
            content,
            rest: Map::new(),
            client_path: ClientPath::default(),
        }
    }

    /// Whether this and the next message of the same role can be merged: not if both have
    /// unknown fields.
    pub(crate) fn can_join(&self, next: &Message) -> bool {
        self.rest.is_empty() || next.rest.is_empty()
    }

    /// Appends the next message of the same role.
    pub(crate) fn join(&mut self, next: Message) {
        self.content.extend(next.content);
        if !next.rest.is_empty() {
            self.rest = next.rest;
            self.client_path = next.client_path;
        }
    }

    /// A user message of plain text.
    pub fn user(text: impl Into<String>) -> Self {
        Message::new(Role::User, vec![Block::text(text)])
    }
}

/// One block of a message: what it holds, its cache mark, and unknown fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// What the block holds.
    pub content: Content,
    /// Anthropic's `cache_control`, unchanged.
    pub cache_control: Option<Value>,
    /// Fields of the original dialect that no codec understands.
    pub rest: Map,
    /// Its path in the client's body.
    #[serde(skip)]
    pub client_path: ClientPath,
}

/// What a block holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Plain text.
    Text(String),
    /// An image.
    Image(MediaSource),
    /// A document (PDF, text, or blocks), with the name the model sees.
    Document {
        /// Where its bytes are.
        source: MediaSource,
        /// Its title or file name.
        title: Option<String>,
    },
    /// The model calls a tool of the client.
    ToolUse {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// Its arguments: an object, or a string when the model wrote no valid JSON.
        input: Value,
    },
    /// The result of the client's tool.
    ToolResult {
        /// The id of the call.
        tool_use_id: String,
        /// Text, images and documents.
        content: Vec<Block>,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// What the model thought, with the provider's proof of it.
    Thinking {
        /// The thought, or a summary of it; may be empty.
        thinking: String,
        /// Anthropic's signature, an envelope with another provider's state, or nothing.
        signature: String,
    },
    /// A thought only the provider can read.
    RedactedThinking {
        /// The encrypted thought.
        data: String,
    },
    /// The model calls a tool that the server runs.
    ServerToolUse {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// Its arguments.
        input: Value,
    },
    /// The result of a server tool.
    ServerToolResult {
        /// The block's type, such as `bash_code_execution_tool_result`.
        kind: String,
        /// The id of the call.
        tool_use_id: String,
        /// The result, unchanged.
        content: Value,
    },
    /// A block no codec understands; all its fields but the type are in `rest`.
    Other {
        /// The block's type.
        kind: String,
    },
}

impl Content {
    /// Anthropic's type name of the block.
    pub fn kind(&self) -> &str {
        match self {
            Content::Text(_) => "text",
            Content::Image(_) => "image",
            Content::Document { .. } => "document",
            Content::ToolUse { .. } => "tool_use",
            Content::ToolResult { .. } => "tool_result",
            Content::Thinking { .. } => "thinking",
            Content::RedactedThinking { .. } => "redacted_thinking",
            Content::ServerToolUse { .. } => "server_tool_use",
            Content::ServerToolResult { kind, .. } | Content::Other { kind } => kind,
        }
    }
}

/// Where the bytes of an image or document are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaSource {
    /// In the message, base64.
    Base64 {
        /// Their MIME type.
        media_type: String,
        /// The base64 text.
        data: String,
    },
    /// At an address the provider fetches.
    Url(String),
    /// In the provider's file store.
    File(String),
    /// In the message, as text.
    Text {
        /// Its MIME type.
        media_type: String,
        /// The text.
        data: String,
    },
    /// In the message, as blocks.
    Blocks(Vec<Block>),
    /// A source no codec understands, unchanged.
    Other(Map),
}

impl Block {
    /// A block without marks or unknown fields.
    pub fn new(content: Content) -> Self {
        Block {
            content,
            cache_control: None,
            rest: Map::new(),
            client_path: ClientPath::default(),
        }
    }

    /// A block of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Block::new(Content::Text(text.into()))
    }

    /// A call of a tool.
    pub fn tool_use(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Block::new(Content::ToolUse {
            id: id.into(),
            name: name.into(),
            input,
        })
    }

    /// The text of a tool that ended well.
    pub fn tool_result(id: impl Into<String>, text: impl Into<String>) -> Self {
        Block::new(Content::ToolResult {
            tool_use_id: id.into(),
            content: vec![Block::text(text)],
            is_error: false,
        })
    }

    /// The text, when this is a text block.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether there is nothing but the content.
    pub(crate) fn is_plain(&self) -> bool {
        self.cache_control.is_none() && self.rest.keys().all(|key| key == DIALECT_FIELDS)
    }
}
