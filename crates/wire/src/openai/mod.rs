//! What OpenAI's two dialects share: errors, usage, cache marks, effort, the user's id,
//! and which schemas are strict.

mod cache;
mod effort;
mod error;
mod image_detail;
mod refusal;
mod strict_schema;
mod usage;
mod user;

pub(crate) use cache::{read_breakpoint, write_breakpoint};
pub(crate) use effort::{disables_thinking, does_not_reason, effort_for_request, effort_source};
pub(crate) use error::{
    is_error, read_error, read_error_value, read_failure, render_error, write_failure,
};
pub(crate) use image_detail::take_detail;
pub(crate) use refusal::{StreamedText, empty_refusal, explanation, is_refusal, mark_refusal};
pub(crate) use strict_schema::{is_strict_schema, strict_function};
pub(crate) use usage::{
    UsageFieldNames, all_output, cached_input, first_count, read_usage, service_tier, write_usage,
};
pub(crate) use user::user_for_request;

/// Request fields both dialects have under the same name.
pub(crate) const SHARED_FIELDS: [&str; 9] = [
    "metadata",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "top_logprobs",
    "moderation",
];
