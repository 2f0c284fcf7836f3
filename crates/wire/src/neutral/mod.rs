//! The neutral conversation between all dialects, in Anthropic's block form.
//!
//! The types between the dialects, and operations that need no dialect: collecting a stream
//! into a response, replaying a response as a stream, adding up usage, and joining the texts of
//! several turns.

mod anthropic_request;
mod audio;
mod block;
mod client_path;
mod client_tools;
mod collector;
mod conversation_json;
mod dialect_fields;
mod error;
mod estimate;
mod price_details;
mod replay;
mod request;
mod response;
mod server_calls;
mod stream;
mod text_places;
mod tool;
mod turns;
mod url_citations;
mod usage;

pub use anthropic_request::convert_to_anthropic;
pub(crate) use audio::{AUDIO, CollectedAudio, audio_event, is_audio};
pub use block::{Block, Content, MediaSource, Message, Role};
pub use client_path::ClientPath;
pub use client_tools::ClientTools;
pub(crate) use client_tools::{ClientTool, ClientToolForm, ClientToolKind, ToolPlace};
pub use collector::ResponseCollector;
pub use conversation_json::{conversation_from_json, conversation_to_json};
pub use dialect_fields::merge_dialect_fields;
pub(crate) use dialect_fields::{
    DIALECT_FIELDS, DIALECT_ONLY_FIELDS, ResponseDialectFields, add_choice, merge,
    without_dialect_fields,
};
pub use error::{ApiError, ErrorKind};
pub use estimate::estimate_tokens;
pub(crate) use estimate::text as text_tokens;
pub use price_details::{OtherModelUsage, PriceDetails, ServiceTier};
pub use replay::replay;
pub use request::{Request, ResponseFormat, Thinking, ThinkingMode};
pub(crate) use response::refusal_details;
pub use response::{Response, StopReason};
pub(crate) use server_calls::{
    expand_server_calls, expand_server_calls_except, expand_server_calls_for_responses, split_calls,
};
pub use stream::{Delta, StreamEvent};
pub use text_places::{TextPlace, move_annotations, move_places};
pub use tool::{Tool, ToolChoice, ToolKind};
pub(crate) use turns::{MergedTurn, is_system_in_place, merge_turns, push_turn};
pub(crate) use url_citations::{
    ANNOTATION_ADDED, ANNOTATIONS, add_annotations, annotation_event, citations_from_chat,
    citations_of_only_text, cited_content, count_citations, take_citations_for_chat,
};
pub use usage::TokenUsage;

pub use crate::client_fields::ClientFields;

/// A JSON object whose fields keep their order.
pub type Map = serde_json::Map<String, serde_json::Value>;
