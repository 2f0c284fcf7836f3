//! The neutral conversation every road meets in: Anthropic's block form.
//!
//! Owns the types between the dialects and what can be done with them without
//! knowing any dialect: collecting a stream into a response, replaying a response
//! as a stream, adding up usage.

mod adopt;
mod block;
mod client_path;
mod client_tools;
mod collect;
mod error;
mod estimate;
mod kept;
mod own;
mod replay;
mod request;
mod response;
mod stream;
mod tool;
mod turns;
mod unroll;
mod usage;

pub use adopt::adopt;
pub use block::{Block, Content, Message, Role, Source};
pub use client_path::ClientPath;
pub use client_tools::ClientTools;
pub(crate) use client_tools::{ClientTool, Form, Place, Runner};
pub use collect::Collector;
pub use error::{ApiError, ErrorKind};
pub use estimate::estimate_tokens;
pub use kept::{read_kept, write_kept};
pub use own::keep_own;
pub(crate) use own::{MEANINGLESS_ELSEWHERE, OWN, OwnAnswer, add_choice, merge, without_own};
pub use replay::replay;
pub use request::{Format, Request, Thinking, ThinkingMode};
pub(crate) use response::refusal_details;
pub use response::{Response, StopReason};
pub use stream::{Delta, StreamEvent};
pub use tool::{Tool, ToolChoice, ToolKind};
pub(crate) use turns::{Turn, push_turn, tagged_system, turns};
pub(crate) use unroll::{unroll, unroll_but, unroll_for_responses};
pub use usage::Usage;

pub use crate::client_fields::ClientFields;

/// A JSON object whose fields keep their order.
pub type Map = serde_json::Map<String, serde_json::Value>;
