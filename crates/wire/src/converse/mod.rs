//! Bedrock Converse: an upstream dialect for every model Bedrock hosts.
//!
//! Owns the writing of its requests and the reading of its answers, streams and
//! errors. The model is named in the path, not in the body.

mod block_out;
mod document_out;
mod error;
mod request_out;
mod response_in;
mod settings_out;
mod stream_in;
mod tools_out;

pub(crate) use error::{read_error, read_exception};
pub(crate) use request_out::write_request;
pub(crate) use response_in::read_response;
pub(crate) use stream_in::ConverseReader;
