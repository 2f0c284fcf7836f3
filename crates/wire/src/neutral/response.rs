//! A whole response of a model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Block, Map, TokenUsage};
use crate::Dialect;

/// A whole response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The dialect it was read from: the only one `rest` and `message_rest` can go
    /// back to. Unknown fields of blocks go to Messages clients unchanged, except annotations
    /// of texts.
    pub origin: Dialect,
    /// The provider's id of the response.
    pub id: String,
    /// The model that responded.
    pub model: String,
    /// The content.
    pub content: Vec<Block>,
    /// Why it stopped.
    pub stop_reason: Option<StopReason>,
    /// The text that stopped it.
    pub stop_sequence: Option<String>,
    /// More about a refusal, in Anthropic's form.
    pub stop_details: Option<Value>,
    /// What it cost.
    pub usage: TokenUsage,
    /// The container that was used, unchanged.
    pub container: Option<Value>,
    /// Fields of the response that no codec understands.
    pub rest: Map,
    /// Fields of the message inside the response (OpenAI chat) that no codec understands.
    pub message_rest: Map,
    /// Fields of the choice around that message that no codec understands.
    pub choice_rest: Map,
}

impl Response {
    /// An empty response.
    pub fn new(origin: Dialect, id: impl Into<String>, model: impl Into<String>) -> Self {
        Response {
            origin,
            id: id.into(),
            model: model.into(),
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            stop_details: None,
            usage: TokenUsage::default(),
            container: None,
            rest: Map::new(),
            message_rest: Map::new(),
            choice_rest: Map::new(),
        }
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It finished its turn.
    EndTurn,
    /// It reached the token limit of the request.
    MaxTokens,
    /// It wrote a stop sequence.
    StopSequence,
    /// It calls tools of the client.
    ToolUse,
    /// The server stopped a long run; the client may send it on.
    PauseTurn,
    /// It, or a filter around it, declined.
    Refusal,
    /// The conversation filled its context window.
    ContextWindow,
    /// A reason no codec understands, with the provider's name.
    Other(String),
}

impl StopReason {
    /// Anthropic's name.
    pub fn as_str(&self) -> &str {
        match self {
            StopReason::EndTurn => "end_turn",
            StopReason::MaxTokens => "max_tokens",
            StopReason::StopSequence => "stop_sequence",
            StopReason::ToolUse => "tool_use",
            StopReason::PauseTurn => "pause_turn",
            StopReason::Refusal => "refusal",
            StopReason::ContextWindow => "model_context_window_exceeded",
            StopReason::Other(word) => word,
        }
    }

    pub(crate) fn from_anthropic(word: String) -> Self {
        match word.as_str() {
            "end_turn" => StopReason::EndTurn,
            "max_tokens" => StopReason::MaxTokens,
            "stop_sequence" => StopReason::StopSequence,
            "tool_use" => StopReason::ToolUse,
            "pause_turn" => StopReason::PauseTurn,
            "refusal" => StopReason::Refusal,
            "model_context_window_exceeded" => StopReason::ContextWindow,
            _ => StopReason::Other(word),
        }
    }
}

/// The details of a refusal in Anthropic's form.
pub(crate) fn refusal_details(explanation: Option<&str>) -> Value {
    serde_json::json!({"type": "refusal", "category": null, "explanation": explanation})
}
