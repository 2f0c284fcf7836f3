//! OpenAI Chat Completions, the most widespread dialect.
//!
//! Reads and writes its requests, responses and streams. What it shares
//! with the Responses dialect is in [`crate::openai`].

mod alternation;
mod call_turns;
mod content_in;
mod extra_content;
mod finish;
mod former_functions;
mod gemini_settings;
mod google_thoughts;
mod message_in;
mod message_out;
mod mistral_fields;
mod mistral_order;
mod part_in;
mod part_out;
mod reasoning_details;
mod reasoning_in;
mod reasoning_out;
mod reasoning_reply;
mod request_in;
mod request_out;
mod response_in;
mod response_out;
mod stream_in;
mod stream_out;
mod tools;

use crate::openai::UsageFieldNames;

pub(crate) use reasoning_out::PLACEHOLDER_SIGNATURE;
pub(crate) use request_in::{read_request, read_schema};
pub(crate) use request_out::{write_request, write_schema};
pub(crate) use response_in::read_response;
pub(crate) use response_out::{freeform_text, write_response};
pub(crate) use stream_in::{ChatReader, escaped};
pub(crate) use stream_out::ChatWriter;
pub(crate) use tools::{read_word as read_choice_word, tool_type};

pub(crate) const USAGE_FIELDS: UsageFieldNames = UsageFieldNames {
    input: "prompt_tokens",
    input_details: "prompt_tokens_details",
    output: "completion_tokens",
    output_details: "completion_tokens_details",
    own: "chat",
};
