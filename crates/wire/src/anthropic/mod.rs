//! Anthropic Messages: the dialect closest to the neutral conversation.
//!
//! Reads and writes its requests, responses, streams and errors, and handles the small
//! differences of its bodies on Bedrock (InvokeModel) and Vertex.

mod answered_calls;
mod block_in;
mod block_out;
mod document_out;
mod error;
mod foreign_blocks;
mod host;
mod host_betas;
mod host_fields;
pub mod hosting;
pub mod output_files;
mod output_schema;
mod reasoning_out;
mod request_in;
mod request_out;
mod response_block;
mod response_in;
mod response_out;
mod stream_in;
mod stream_out;
mod tools;
pub(crate) mod usage;

pub(crate) use answered_calls::{restore_call, restore_google_code, restore_text};
pub(crate) use block_in::read_block;
pub(crate) use block_out::{to_client as block_to_client, whole as whole_block};
pub(crate) use error::{is_error, read_error, render_error};
pub(crate) use reasoning_out::{ReasoningSettings, reasoning_settings, write_thinking};
pub(crate) use request_in::read_request;
pub(crate) use request_out::{accepted_schema, write_request};
pub(crate) use response_in::read_response;
pub(crate) use response_out::write_response;
pub(crate) use stream_in::MessagesReader;
pub(crate) use stream_out::MessagesWriter;
pub(crate) use tools::{drop_strict, freeform_schema, read_tool};
