//! The tools a request offers, and how the model may choose among them.

use serde_json::Value;

use super::{ClientPath, Map};

/// A tool offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The name the model calls it by; empty for server tools that have none.
    pub name: String,
    /// What it is.
    pub kind: ToolKind,
    /// Anthropic's `cache_control`, unchanged.
    pub cache_control: Option<Value>,
    /// Fields of the original dialect that no codec understands.
    pub rest: Map,
    /// Its path in the client's body.
    pub client_path: ClientPath,
}

/// What a tool is.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolKind {
    /// A function of the client.
    Function {
        /// What it does.
        description: Option<String>,
        /// The JSON Schema of its arguments.
        input_schema: Value,
        /// Whether conformance to the schema is enforced.
        strict: Option<bool>,
    },
    /// OpenAI's free-form tool: its one argument is text.
    Freeform {
        /// What it does.
        description: Option<String>,
    },
    /// A tool the server runs, such as `code_execution_20260521`; its options are in
    /// `rest`.
    Server {
        /// The tool's type.
        kind: String,
    },
}

impl Tool {
    /// A function tool.
    pub fn function(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
    ) -> Self {
        Tool {
            name: name.into(),
            kind: ToolKind::Function {
                description: Some(description.into()),
                input_schema,
                strict: None,
            },
            cache_control: None,
            rest: Map::new(),
            client_path: ClientPath::default(),
        }
    }
}

/// How the model may choose among the tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// At least one of them.
    Any,
    /// None of them.
    None,
    /// This one.
    Tool(String),
    /// Only these, of all that are offered.
    Allowed {
        /// Their names.
        names: Vec<String>,
        /// Whether one must be called.
        required: bool,
    },
    /// A server tool or a choice no codec understands, unchanged.
    Other(Map),
}
