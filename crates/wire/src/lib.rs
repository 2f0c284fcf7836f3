//! Codecs for model APIs: Anthropic Messages, OpenAI Chat Completions and Responses, Gemini
//! and Bedrock Converse.
//!
//! Every client dialect is read into one neutral conversation ([`neutral`]), and every
//! upstream dialect is written from it; responses, streams and errors come back the same
//! way. Pure: bytes and values in, bytes and values out; no IO, no clock, no randomness.
//!
//! | step | function | direction |
//! |---|---|---|
//! | read a request | [`read_request`] | client → neutral |
//! | write a request | [`write_request`] | neutral → upstream |
//! | read a response | [`read_response`], [`StreamReader`] | upstream → neutral |
//! | write a response | [`write_response`], [`StreamWriter`] | neutral → client |
//! | errors | [`read_error`], [`render_client_error`] | upstream → neutral → client |
//! | pass through | [`raw::RawObject`], [`form::FormScanner`] | unchanged but for single fields |
//!
//! Nothing is lost silently. Unknown fields are retained and go back to the dialect they
//! came from. What a target does not support is either an error that names the field
//! ([`WireError`]) or an entry in [`EncodedRequest::dropped`].
//!
//! ```
//! use prowess_wire::{
//!     ClientDialect, Dialect, ReplyContext, StreamReader, StreamWriter, WriteOptions,
//! };
//!
//! // The client uses Messages …
//! let body = br#"{"model":"small","max_tokens":50,"stream":true,
//!     "messages":[{"role":"user","content":"Say hi"}]}"#;
//! let request = prowess_wire::read_request(ClientDialect::Messages, body)?;
//!
//! // … the upstream uses Chat Completions.
//! let sent = prowess_wire::write_request(Dialect::Chat, &request, &WriteOptions::default())?;
//! assert_eq!(sent.body["messages"][0]["content"], "Say hi");
//! assert!(sent.dropped.is_empty());
//!
//! // Its stream comes in chunks of any size and goes out as the client expects it.
//! let mut reader = StreamReader::new(Dialect::Chat, sent.context.with_id("msg_1"));
//! let context = ReplyContext::for_request(&request, 1_760_000_000);
//! let mut writer = StreamWriter::new(ClientDialect::Messages, context);
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
//! # Gemini clients
//!
//! [`ClientDialect::Gemini`] differs in two ways. The model and the stream flag are part of
//! the path, not of the body: whoever reads the request sets [`neutral::Request::model`] and
//! [`neutral::Request::stream`]. And its streams are server-sent events only on request;
//! with [`ReplyContext::json_array`] they are written as the elements of one JSON array.
//!
//! ```
//! use prowess_wire::{ClientDialect, Dialect, WriteOptions};
//!
//! let body = br#"{"system_instruction": {"parts": [{"text": "Be brief."}]},
//!     "contents": [{"parts": [{"text": "Say hi"}]}]}"#;
//! let mut request = prowess_wire::read_request(ClientDialect::Gemini, body)?;
//! request.model = "small".to_owned();
//! let sent = prowess_wire::write_request(Dialect::Chat, &request, &WriteOptions::default())?;
//! assert_eq!(sent.body["messages"][1]["content"], "Say hi");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! One folder per dialect, one file per step (`request_in`, `request_out`, `response_in`,
//! `response_out`, `stream_in`, `stream_out`, `error`).
//!
//! | module | content |
//! |---|---|
//! | `anthropic`, `chat`, `responses`, `gemini`, `converse` | the dialects |
//! | [`embeddings`] | embeddings: texts in, vectors out |
//! | `openai` | what Chat Completions and Responses share |
//! | [`neutral`] | the form between the dialects |
//! | `codec`, `streams` | which dialect module reads or writes what, whole and streamed |
//! | `context`, `reply_setup` | what a reader or writer needs beside the body; what a response takes from its request |
//! | [`sse`], [`event_stream`] | framing: server-sent events, AWS frames |
//! | [`raw`], [`form`] | single fields of a body that is passed through: JSON, a form |
//! | `fields`, `json_path` | reads a JSON object field by field; paths of values |
//! | `parsed_size` | memory that a JSON text takes once it is parsed |
//! | `client_fields`, `item_names`, `field_name` | field names in the client's dialect, for errors and drops |
//! | `camel_case` | the two spellings of Google's field names |
//! | `error`, `render`, `rendered_error`, `excerpt` | errors, their rendering, bounded quotes in messages |
//! | `complete`, `tool_results` | checks of requests: required fields, results without a call |
//! | `drops`, `dropped`, `lost_sources` | what could not be translated |
//! | `adapt` | tools and blocks of one vendor, for models of another |
//! | `model_text` | every text that wire adds for a model |
//! | `first_event` | of a stream that is passed through: whether it begins with an error |
//! | `first_message`, `last_message`, `blank_messages` | conversations that a vendor would refuse |
//! | `tool_names`, `arguments`, `argument_schemas` | tool names and call ids, call arguments, their schemas |
//! | `call_ids` | ids of calls, each once in a conversation |
//! | `server_call_ids` | ids of calls that other vendors' servers answered, for Messages clients |
//! | `calls`, `blocks` | calls and blocks of a stream |
//! | `plain_text`, `media_types`, `media_content`, `generated_images` | text forms, file types, images |
//! | `signature_envelope`, `signature_scan` | state of other vendors in signature fields |
//! | [`models`], `effort`, `sampling` | what each model supports, and how it is adapted |
//! | `stream_size` | how large a streamed response may become |
//! | `stop_sequences` | stop sequences for upstreams without them |
//! | `token_counts`, `passed_details` | of a response that is passed through: its token counts, and what decides about its cost besides |

mod adapt;
mod anthropic;
mod argument_schemas;
mod arguments;
mod blank_messages;
mod blocks;
mod call_ids;
mod calls;
mod camel_case;
mod chat;
mod client_fields;
mod codec;
mod complete;
mod context;
mod converse;
mod dropped;
mod drops;
mod effort;
pub mod embeddings;
mod error;
pub mod event_stream;
mod excerpt;
mod field_name;
mod fields;
mod first_event;
mod first_message;
pub mod form;
mod gemini;
mod generated_images;
mod item_names;
mod json_path;
mod last_message;
mod lost_sources;
mod media_content;
mod media_types;
mod model_text;
pub mod models;
pub mod neutral;
mod openai;
mod parsed_size;
mod passed_details;
mod plain_text;
pub mod raw;
mod render;
mod rendered_error;
mod reply_setup;
mod responses;
mod sampling;
mod server_call_ids;
mod signature_envelope;
mod signature_scan;
pub mod sse;
mod stop_sequences;
mod stream_size;
mod streams;
mod token_counts;
mod tool_names;
mod tool_results;

pub use anthropic::{hosting, output_files};
pub use codec::{is_error, read_error, read_request, read_response, write_request, write_response};
pub use complete::check_complete;
pub use context::{EncodedRequest, ReadContext, ReasoningContent, ReplyContext, WriteOptions};
pub use dropped::Dropped;
pub use error::WireError;
pub use excerpt::{Excerpt, excerpt};
pub use fields::parse as parse_json;
pub use first_event::{FirstEvent, FirstEventFinder};
pub use parsed_size::{MAX_PARSED_EXCESS, parsed_excess, parsed_excess_of_all};
pub use passed_details::{add_price_details, count_search_queries};
pub use render::render_client_error;
pub use rendered_error::RenderedError;
pub use responses::{ResponseStatus, count_web_searches, unfinished_response};
pub use signature_scan::has_signature_envelope;
pub use streams::{StreamReader, StreamWriter};
pub use token_counts::{read_counts_or_total, read_token_counts, token_counts_key};

/// The API dialect of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Anthropic Messages; also InvokeModel on Bedrock and rawPredict on Vertex, see
    /// [`hosting`].
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

/// The API dialect of a client.
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

impl ClientDialect {
    const ALL: [ClientDialect; 4] = [
        ClientDialect::Messages,
        ClientDialect::Chat,
        ClientDialect::Responses,
        ClientDialect::Gemini,
    ];

    /// Its name in records, logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ClientDialect::Messages => "messages",
            ClientDialect::Chat => "chat",
            ClientDialect::Responses => "responses",
            ClientDialect::Gemini => "gemini",
        }
    }

    /// The dialect with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = ClientDialect::ALL.into_iter();
        all.find(|dialect| dialect.as_str() == name)
    }
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
