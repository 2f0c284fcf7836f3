//! A response of a model as a stream of events.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ApiError, Block, Map, StopReason, TokenUsage};

/// One event of a streamed response. Block indexes are dense and start at 0, and one
/// block ends before the next begins; readers guarantee it, writers rely on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamEvent {
    /// The response begins; once, first.
    MessageStart {
        /// The provider's id of the response.
        id: String,
        /// The model that responds.
        model: String,
        /// What is known of the cost so far.
        usage: TokenUsage,
        /// Fields of Anthropic's message that no codec understands.
        rest: Map,
    },
    /// A block begins. Text, thinking and tool input follow as deltas; all other
    /// blocks are whole.
    BlockStart {
        /// Its place.
        index: usize,
        /// The block, its growing part empty.
        block: Block,
    },
    /// A block grows.
    BlockDelta {
        /// Its place.
        index: usize,
        /// By what.
        delta: Delta,
    },
    /// A block ends.
    BlockStop {
        /// Its place.
        index: usize,
    },
    /// A block ends before it is complete, and is not part of the response: its turn is
    /// repeated.
    BlockAbandoned {
        /// Its place.
        index: usize,
    },
    /// The response is about to end; the usage is the whole message's.
    MessageDelta {
        /// Why it ends.
        stop_reason: Option<StopReason>,
        /// The text that stopped it.
        stop_sequence: Option<String>,
        /// More about a refusal, in Anthropic's form.
        stop_details: Option<Value>,
        /// The container that was used, unchanged.
        container: Option<Value>,
        /// What the message cost in all.
        usage: TokenUsage,
        /// Prowess's own fields for the top level of the response, in any dialect, and those that
        /// only the upstream's dialect has, under one key.
        rest: Map,
    },
    /// The response has ended; once, last.
    MessageStop,
    /// Nothing happened, but the line is alive.
    Ping,
    /// The response broke off; last.
    Error(ApiError),
    /// An event that no codec understands: Anthropic's, or one of Responses about an item
    /// of its servers that is in progress, or with an annotation of the open text (its name
    /// begins with `response.`), or a piece of a Chat model's speech (`chat.audio.delta`).
    Other {
        /// Its name.
        name: String,
        /// Its fields.
        data: Map,
    },
}

/// How a block grows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// More text.
    Text(String),
    /// More of a tool's arguments, as JSON text.
    InputJson(String),
    /// More of a thought.
    Thinking(String),
    /// The signature of a thought, whole.
    Signature(String),
    /// A kind no codec understands (such as `citations_delta`), unchanged.
    Other(Map),
    /// Fields of the block's `rest` that were not known when it began: lists grow by
    /// them, others are replaced.
    Rest(Map),
}
