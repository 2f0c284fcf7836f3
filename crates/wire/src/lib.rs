//! The dialects models speak, and the roads between them.
//!
//! Every client dialect is read into one neutral conversation ([`neutral`]), and every
//! upstream dialect is written from it; answers, streams and errors come back the same
//! way. Pure: bytes and values in, bytes and values out; no IO, no clock, no randomness.
//!
//! | step | function | on the way |
//! |---|---|---|
//! | request in | [`read_request`] | client → neutral |
//! | request out | [`write_request`] | neutral → upstream |
//! | answer in | [`read_response`], [`StreamReader`] | upstream → neutral |
//! | answer out | [`write_response`], [`StreamWriter`] | neutral → client |
//! | errors | [`read_error`], [`render`] | upstream → neutral → client |
//! | untouched | [`raw::RawObject`] | pass-through, one field changed |
//!
//! Nothing is lost silently. Unknown fields are kept and go back to the dialect they
//! came from. What a target cannot say is either an error that names the field
//! ([`WireError`]) or an entry in [`Outgoing::dropped`].
//!
//! ```
//! use prowess_wire::{Client, Dialect, ReplyContext, StreamReader, StreamWriter, WriteOptions};
//!
//! // A client speaks Messages …
//! let body = br#"{"model":"small","max_tokens":50,"stream":true,
//!     "messages":[{"role":"user","content":"Say hi"}]}"#;
//! let request = prowess_wire::read_request(Client::Messages, body)?;
//!
//! // … the model's server speaks Chat Completions.
//! let sent = prowess_wire::write_request(Dialect::Chat, &request, &WriteOptions::default())?;
//! assert_eq!(sent.body["messages"][0]["content"], "Say hi");
//! assert!(sent.dropped.is_empty());
//!
//! // Its stream comes in chunks of any size and goes out as the client expects it.
//! let mut reader = StreamReader::new(Dialect::Chat, sent.context.with_id("msg_1"));
//! let mut writer = StreamWriter::new(Client::Messages, ReplyContext::of(&request, 1_760_000_000));
//! let mut out = Vec::new();
//! for chunk in [
//!     &b"data: {\"id\":\"c1\",\"choices\":[{\"delta\":{\"content\":\"Hi\"},"[..],
//!     &b"\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"[..],
//! ] {
//!     for event in reader.push(chunk) {
//!         writer.write(&event, &mut out);
//!     }
//! }
//! for event in reader.finish() {
//!     writer.write(&event, &mut out);
//! }
//! let text = String::from_utf8(out)?;
//! assert!(text.starts_with("event: message_start\n"));
//! assert!(text.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Gemini's clients
//!
//! [`Client::Gemini`] differs in two ways. Its requests name no model and do not say whether
//! they want a stream: both stand in their path, and whoever reads the request sets
//! [`neutral::Request::model`] and [`neutral::Request::stream`]. And its streams are events
//! only if the client asks for them; [`ReplyContext::array`] has them written as the elements
//! of one JSON array.
//!
//! ```
//! use prowess_wire::{Client, Dialect, WriteOptions};
//!
//! let body = br#"{"system_instruction": {"parts": [{"text": "Be brief."}]},
//!     "contents": [{"parts": [{"text": "Say hi"}]}]}"#;
//! let mut request = prowess_wire::read_request(Client::Gemini, body)?;
//! request.model = "small".to_owned();
//! let sent = prowess_wire::write_request(Dialect::Chat, &request, &WriteOptions::default())?;
//! assert_eq!(sent.body["messages"][1]["content"], "Say hi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! One folder per dialect (`anthropic`, `chat`, `responses`, `gemini`, `converse`), one
//! file per road (`request_in`, `request_out`, `response_in`, `response_out`,
//! `stream_in`, `stream_out`, `error`). `openai` holds what its two dialects share;
//! `sse` and `event_stream` are framing only.

mod adapt;
mod anthropic;
mod arguments;
mod blank_messages;
mod blocks;
mod calls;
mod chat;
mod client_fields;
mod codec;
mod complete;
mod context;
mod converse;
mod drops;
mod effort;
mod error;
pub mod event_stream;
mod excerpt;
mod field_names;
mod fields;
mod first_message;
mod gemini;
mod generated_images;
mod media_types;
pub mod models;
pub mod neutral;
mod openai;
mod plain_text;
pub mod raw;
mod render;
mod responses;
mod sampling;
mod signature_envelope;
mod signature_scan;
pub mod sse;
mod stop_sequences;
mod streams;
mod token_counts;
mod tool_names;
mod tool_results;

pub use anthropic::{hosting, output_files};
pub use codec::{is_error, read_error, read_request, read_response, write_request, write_response};
pub use complete::check_complete;
pub use context::{EncodedRequest, ReadContext, ReasoningContent, ReplyContext, WriteOptions};
pub use drops::Dropped;
pub use error::WireError;
pub use excerpt::{Excerpt, excerpt};
pub use render::{RenderedError, render_client_error};
pub use signature_scan::has_signature_envelope;
pub use streams::{StreamReader, StreamWriter};
pub use token_counts::{read_token_counts, token_counts_key};

/// A dialect a model's server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Anthropic Messages; also InvokeModel on Bedrock and rawPredict on Vertex, see
    /// [`tweaks`].
    Messages,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Gemini generateContent.
    Gemini,
    /// Bedrock Converse.
    Converse,
}

/// A dialect a client may speak to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientDialect {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Gemini generateContent.
    Gemini,
}

impl From<ClientDialect> for Dialect {
    fn from(client: ClientDialect) -> Self {
        match client {
            ClientDialect::Messages => Dialect::Messages,
            ClientDialect::Chat => Dialect::Chat,
            ClientDialect::Responses => Dialect::Responses,
            ClientDialect::Gemini => Dialect::Gemini,
        }
    }
}
