//! Gemini generateContent, for upstreams and for clients.
//!
//! Reads and writes its requests, responses, streams and errors. The model and the stream
//! flag are part of the path, not of the body.
//!
//! | direction | files |
//! |---|---|
//! | client's request | `request_in`, `contents_in`, `calls_in`, `request_part_in`, `tools_in`, |
//! | | `settings_in`, `schema_in` |
//! | request to an upstream | `request_out`, `request_part_out`, `tools_out`, `settings_out` |
//! | its response | `response_in`, `stream_in`, `response_part_in`, `price_details` |
//! | response to a client | `response_out`, `stream_out`, `response_part_out` |
//!
//! `fields_in`, `signature` and `code_execution` serve both directions of a client.

mod calls_in;
mod code_execution;
mod contents_in;
mod error;
mod fields_in;
mod media_out;
mod partial_calls;
mod price_details;
mod request_in;
mod request_out;
mod request_part_in;
mod request_part_out;
mod response_in;
mod response_out;
mod response_part_in;
mod response_part_out;
mod schema_in;
mod settings_in;
mod settings_out;
mod signature;
mod stream_in;
mod stream_out;
mod thinking_out;
mod tools_in;
mod tools_out;

pub(crate) use code_execution::returned_code_id;
pub(crate) use error::{is_error, read_error, render_error};
pub(crate) use price_details::price_details;
pub(crate) use request_in::read_request;
pub(crate) use request_out::write_request;
pub(crate) use response_in::read_response;
pub(crate) use response_out::write_response;
#[cfg(test)]
pub(crate) use response_part_out::write_usage;
pub(crate) use settings_in::{INCLUDE_THOUGHTS, shows_thoughts};
pub(crate) use stream_in::GeminiReader;
pub(crate) use stream_out::GeminiWriter;
