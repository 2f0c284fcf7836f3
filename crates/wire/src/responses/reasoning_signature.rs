//! Reasoning items and thoughts: OpenAI's encrypted reasoning inside a signature, and
//! other providers' signatures inside `encrypted_content`.

use crate::neutral::Content;
use crate::signature_envelope::{SignatureEnvelope, decode_envelope, encode_openai_reasoning};

/// Marks a signature that is not OpenAI's.
const SIGNATURE_PREFIX: &str = "pw1.";
/// Marks a redacted thought.
const REDACTED_PREFIX: &str = "pw1r.";

/// The thought of a reasoning item.
pub(super) fn read_thought(id: &str, thinking: String, encrypted: Option<&str>) -> Content {
    let Some(encrypted) = encrypted else {
        return Content::Thinking {
            thinking,
            signature: String::new(),
        };
    };
    if let Some(data) = encrypted.strip_prefix(REDACTED_PREFIX) {
        return Content::RedactedThinking {
            data: data.to_owned(),
        };
    }
    Content::Thinking {
        thinking,
        signature: match encrypted.strip_prefix(SIGNATURE_PREFIX) {
            Some(signature) => signature.to_owned(),
            None => encode_openai_reasoning(id, encrypted),
        },
    }
}

/// The id of OpenAI's reasoning item.
pub(super) fn openai_id(content: &Content) -> Option<String> {
    match content {
        Content::Thinking { signature, .. } => match decode_envelope(signature) {
            SignatureEnvelope::OpenAi { id, .. } if !id.is_empty() => Some(id),
            _ => None,
        },
        _ => None,
    }
}

/// The `encrypted_content` that a client sends back. OpenAI's own is unchanged only next to
/// its own id, which a stream learns too late: then the whole envelope is used.
pub(super) fn encrypted_content(content: &Content, item_id: &str) -> Option<String> {
    match content {
        Content::Thinking { signature, .. } => match decode_envelope(signature) {
            SignatureEnvelope::OpenAi { id, encrypted } if id == item_id => Some(encrypted),
            SignatureEnvelope::None => None,
            _ => Some(format!("{SIGNATURE_PREFIX}{signature}")),
        },
        Content::RedactedThinking { data } => Some(format!("{REDACTED_PREFIX}{data}")),
        _ => None,
    }
}
