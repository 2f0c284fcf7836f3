//! Bedrock Converse: an upstream dialect for every model Bedrock hosts.
//!
//! Writes its requests and reads its responses, streams and errors. The model is part of the
//! path, not of the body.

mod block_out;
mod citations;
mod document_out;
mod error;
mod request_out;
mod response_in;
mod server_tools;
mod settings_out;
mod stream_in;
mod tools_out;

pub(crate) use error::{read_error, read_exception};
pub(crate) use request_out::write_request;
pub(crate) use response_in::read_response;
pub(crate) use stream_in::ConverseReader;
