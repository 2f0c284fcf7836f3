//! OpenAI Responses: conversations as a list of typed items.
//!
//! Owns the reading and writing of its requests, answers and streams. What it shares
//! with Chat Completions is in [`crate::openai`].

mod call_outputs;
mod client_tools;
mod echo;
mod flat_tools;
mod foreign;
mod foreign_items;
mod hosted;
mod item_in;
mod item_out;
mod namespace;
mod own_item;
mod part_in;
mod part_out;
mod picture;
mod request_in;
mod request_out;
mod response_in;
mod response_out;
mod sealed;
mod shape;
mod shell;
mod spoken_item;
mod stream_ends;
mod stream_in;
mod stream_item;
mod stream_message;
mod stream_out;
mod stream_thought;
mod tools;

use crate::openai::Names;

pub(crate) use echo::echo;
pub(crate) use flat_tools::TOOL_ITEMS;
pub(crate) use foreign::readable;
pub(crate) use request_in::read_request;
pub(crate) use request_out::write_request;
pub(crate) use response_in::read_response;
pub(crate) use response_out::write_response;
pub(crate) use shell::{called, command};
pub(crate) use stream_in::ResponsesReader;
pub(crate) use stream_out::ResponsesWriter;
pub(crate) use tools::runner_of;

pub(crate) const USAGE: Names = Names {
    input: "input_tokens",
    input_details: "input_tokens_details",
    output: "output_tokens",
    output_details: "output_tokens_details",
    own: "responses",
};
