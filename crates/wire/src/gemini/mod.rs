//! Gemini generateContent: an upstream dialect.
//!
//! Owns the writing of its requests and the reading of its answers, streams and
//! errors. The model is named in the path, not in the body.

mod error;
mod part_out;
mod parts_in;
mod recording_out;
mod request_out;
mod response_in;
mod settings_out;
mod stream_in;
mod thinking_out;
mod tools_out;

pub(crate) use error::read_error;
pub(crate) use request_out::write_request;
pub(crate) use response_in::read_response;
pub(crate) use stream_in::GeminiReader;
