//! The fields of a request that Mistral's own servers accept. They refuse every other one,
//! while most servers ignore it.

use crate::Dialect;
use crate::drops::Drops;
use crate::neutral::{Map, Request};

/// What Mistral accepts.
const KNOWN: [&str; 22] = [
    "frequency_penalty",
    "guardrails",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_mode",
    "random_seed",
    "reasoning_effort",
    "response_format",
    "safe_prompt",
    "stop",
    "stream",
    "temperature",
    "tool_choice",
    "tools",
    "top_p",
];

/// Mistral's names of fields that OpenAI calls otherwise.
const RENAMED: [(&str, &str); 2] = [
    ("max_completion_tokens", "max_tokens"),
    ("seed", "random_seed"),
];

/// Removes the fields that Mistral does not have. Those that a Chat client sent stay: it gets
/// Mistral's own error.
pub(super) fn keep_mistral_fields(request: &Request, body: &mut Map, drops: &mut Drops) {
    // Added here for every server; Mistral reports the usage anyway.
    body.shift_remove("stream_options");
    if request.origin == Dialect::Chat {
        return;
    }
    for (from, to) in RENAMED {
        if let Some(value) = body.shift_remove(from) {
            body.insert(to.to_owned(), value);
        }
    }
    body.retain(|key, _| {
        let keeps = KNOWN.contains(&key.as_str());
        // This server stores the response itself.
        if !keeps && key != "store" {
            drops.add(client_name(key), "Mistral refuses requests with this field");
        }
        keeps
    });
}

/// The name of a field in the client's dialect, or its neutral name.
fn client_name(key: &str) -> &str {
    match key {
        "user" => "metadata.user_id",
        "verbosity" => "text.verbosity",
        other => other,
    }
}
