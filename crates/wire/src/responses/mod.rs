//! OpenAI Responses: conversations as a list of typed items.
//!
//! Reads and writes its requests, responses and streams. What it shares
//! with Chat Completions is in [`crate::openai`].

mod call_outputs;
mod client_tools;
mod echo;
mod flat_tools;
mod grown_items;
mod hosted_item_translation;
mod hosted_items;
mod hosted_queue;
mod image_item;
mod item_event;
mod item_in;
mod item_out;
mod namespace;
mod part_in;
mod part_out;
mod price_details;
mod reasoning_signature;
mod request_in;
mod request_out;
mod response_in;
mod response_out;
mod response_shape;
mod shell;
mod source_item;
mod stream_call;
mod stream_in;
mod stream_item_done;
mod stream_item_in;
mod stream_message;
mod stream_out;
mod stream_thought;
mod streamed_items;
mod tools;

use crate::openai::UsageFieldNames;

pub(crate) use echo::echoed_settings;
pub(crate) use flat_tools::TOOL_ITEMS;
pub(crate) use hosted_items::translate_hosted_items;
pub(crate) use item_in::hosted_item;
pub use price_details::count_web_searches;
pub(crate) use request_in::read_request;
pub(crate) use request_out::write_request;
pub(crate) use response_in::read_response;
pub(crate) use response_out::write_response;
pub use response_shape::{ResponseStatus, unfinished_response};
pub(crate) use shell::{command, parse_command};
pub(crate) use stream_in::ResponsesReader;
pub(crate) use stream_out::ResponsesWriter;
pub(crate) use tools::kind_for_choice;

pub(crate) const USAGE_FIELDS: UsageFieldNames = UsageFieldNames {
    input: "input_tokens",
    input_details: "input_tokens_details",
    output: "output_tokens",
    output_details: "output_tokens_details",
    own: "responses",
};
