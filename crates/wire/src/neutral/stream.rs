//! What a model answers, piece by piece.

use serde_json::Value;

use super::{ApiError, Block, Map, StopReason, TokenUsage};

/// One piece of a streamed answer. Block indexes are dense and start at 0, and one
/// block ends before the next begins; readers guarantee it, writers rely on it.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The answer begins; once, first.
    MessageStart {
        /// The provider's id of the answer.
        id: String,
        /// The model that answers.
        model: String,
        /// What is known of the cost so far.
        usage: TokenUsage,
        /// Fields of Anthropic's message that no road understands.
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
    /// The answer is about to end; the usage is the whole message's.
    MessageDelta {
        /// Why it ends.
        stop_reason: Option<StopReason>,
        /// The text that stopped it.
        stop_sequence: Option<String>,
        /// More about a refusal, in Anthropic's form.
        stop_details: Option<Value>,
        /// The container that was used, as it stood.
        container: Option<Value>,
        /// What the message cost in all.
        usage: TokenUsage,
        /// Fields of ours for the top of the answer, whatever dialect it is told in.
        rest: Map,
    },
    /// The answer has ended; once, last.
    MessageStop,
    /// Nothing happened, but the line is alive.
    Ping,
    /// The answer broke off; last.
    Error(ApiError),
    /// An event that no road understands: Anthropic's, or one of Responses about an item
    /// that its servers are at work on (its name begins with `response.`).
    Other {
        /// Its name.
        name: String,
        /// Its fields.
        data: Map,
    },
}

/// How a block grows.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// More of a tool's arguments, as JSON text.
    InputJson(String),
    /// More of a thought.
    Thinking(String),
    /// The signature of a thought, whole.
    Signature(String),
    /// A kind no road understands (such as `citations_delta`), as it stood.
    Other(Map),
    /// Fields of the block's `rest` that were not known when it began: lists grow by
    /// them, others are replaced.
    Rest(Map),
}
