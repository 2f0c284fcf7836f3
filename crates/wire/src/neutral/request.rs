//! A request to a model.

use std::sync::Arc;

use serde_json::{Number, Value};

use super::{Block, ClientFields, ClientPath, ClientTools, Map, Message, Tool, ToolChoice};
use crate::Dialect;
use crate::dropped::{Dropped, NO_SUCH_FIELD};

/// A request to a model, in no dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The dialect it was read from: the only one the `rest` fields can go back to.
    pub origin: Dialect,
    /// The dialect it was read from before it was converted to that of its target.
    pub(crate) converted_from: Option<Dialect>,
    /// The model, as the client named it.
    pub model: String,
    /// The most tokens the response may have.
    pub max_tokens: Option<u64>,
    /// Instructions before the conversation: text blocks.
    pub system: Vec<Block>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools offered.
    pub tools: Vec<Tool>,
    /// Which of them, and of past calls, have more than a plain name in the client's dialect.
    pub client_tools: Arc<ClientTools>,
    /// How the model may choose among them.
    pub tool_choice: Option<ToolChoice>,
    /// Whether several tools may be called in one turn.
    pub parallel_tool_calls: Option<bool>,
    /// Whether a Chat client offered its tools as `functions`: it gets a call as
    /// `function_call`, which holds only one.
    pub(crate) function_calls: bool,
    /// Whether the response is streamed.
    pub stream: bool,
    /// Texts that end the response.
    pub stop_sequences: Vec<String>,
    /// Sampling temperature.
    pub temperature: Option<Number>,
    /// Nucleus sampling.
    pub top_p: Option<Number>,
    /// Top-k sampling.
    pub top_k: Option<u64>,
    /// Whether and how the model thinks first.
    pub thinking: Option<Thinking>,
    /// How much effort it makes: `low`, `medium`, `high`, …
    pub effort: Option<String>,
    /// The form the response must have.
    pub format: Option<ResponseFormat>,
    /// The end user behind the request.
    pub user: Option<String>,
    /// The container and its skills, unchanged.
    pub container: Option<Value>,
    /// Anthropic's automatic cache mark on the whole request, unchanged.
    pub cache_control: Option<Value>,
    /// Fields of the original dialect that no codec understands.
    pub rest: Map,
    /// Which settings the client's body had, and in which dialect.
    pub client_fields: ClientFields,
    /// Fields of the client's body that this request cannot hold, for any target.
    pub dropped: Vec<Dropped>,
}

impl Request {
    /// An empty request for a model.
    pub fn new(origin: Dialect, model: impl Into<String>) -> Self {
        Request {
            origin,
            converted_from: None,
            model: model.into(),
            max_tokens: None,
            system: Vec::new(),
            messages: Vec::new(),
            tools: Vec::new(),
            client_tools: Arc::default(),
            tool_choice: None,
            parallel_tool_calls: None,
            function_calls: false,
            stream: false,
            stop_sequences: Vec::new(),
            temperature: None,
            top_p: None,
            top_k: None,
            thinking: None,
            effort: None,
            format: None,
            user: None,
            container: None,
            cache_control: None,
            rest: Map::new(),
            client_fields: ClientFields::default(),
            dropped: Vec::new(),
        }
    }

    /// The dialect of its client. A client gets the errors of a server of that dialect; for
    /// any other server the request is adapted, and so it is when it was converted.
    pub(crate) fn client_dialect(&self) -> Dialect {
        self.converted_from.unwrap_or(self.origin)
    }

    /// Whether a tool is not among those that the model may choose from. Most vendors cannot
    /// restrict the choice, so they are sent only the others. A tool without a name cannot be
    /// among those allowed, and is dropped for another reason.
    pub(crate) fn hides_tool(&self, name: &str) -> bool {
        match &self.tool_choice {
            Some(ToolChoice::Allowed { names, .. }) => {
                !name.is_empty() && !names.iter().any(|allowed| allowed == name)
            }
            _ => false,
        }
    }

    /// Whether the model must call a tool.
    pub(crate) fn forces_tool(&self) -> bool {
        matches!(
            self.tool_choice,
            Some(
                ToolChoice::Any | ToolChoice::Tool(_) | ToolChoice::Allowed { required: true, .. }
            )
        )
    }

    /// Reports unknown fields that have no place in this request.
    pub(crate) fn drop_fields(&mut self, path: &ClientPath, rest: &Map) {
        let path = path.get().map(|(_, path)| path).unwrap_or_default();
        let present = rest.iter().filter(|(_, value)| !value.is_null());
        self.dropped.extend(present.map(|(key, _)| Dropped {
            field: format!("{path}.{key}"),
            why: NO_SUCH_FIELD,
        }));
    }
}

/// Whether and how the model thinks before it responds.
#[derive(Debug, Clone, PartialEq)]
pub struct Thinking {
    /// Whether it thinks.
    pub mode: ThinkingMode,
    /// Options no codec understands, such as `display`.
    pub rest: Map,
}

/// Whether the model thinks before it responds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThinkingMode {
    /// With at most this many tokens.
    Enabled {
        /// The budget.
        budget_tokens: u64,
    },
    /// The model decides.
    Adaptive,
    /// Not at all.
    Disabled,
    /// A mode no codec understands.
    Other(String),
}

/// The form a response must have.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseFormat {
    /// JSON that conforms to a schema.
    JsonSchema {
        /// The schema.
        schema: Value,
        /// Its name, where the dialect has one.
        name: Option<String>,
        /// What it is for, where the dialect has a place for it.
        description: Option<String>,
        /// Whether conformance is enforced.
        strict: Option<bool>,
    },
    /// Any JSON object.
    JsonObject,
    /// A format no codec understands, unchanged.
    Other(Map),
}
