//! Private state of other providers inside Anthropic's `signature` field.
//!
//! Gemini's thought signatures and OpenAI's encrypted reasoning must come back with
//! the next request. They travel as `v1.<provider>.<payload>`, so that a client that
//! only echoes what it was given brings them back. Anthropic's own signatures hold no
//! dot and stay as they are.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const GEMINI: &str = "v1.gemini.";
const OPENAI: &str = "v1.openai.";

/// Whose state a signature holds.
#[derive(Debug, PartialEq)]
pub(crate) enum Sealed<'a> {
    /// Anthropic's own signature, as it stands.
    Anthropic(&'a str),
    /// Gemini's `thoughtSignature`.
    Gemini(&'a str),
    /// OpenAI's reasoning item: its id and encrypted content.
    OpenAi { id: String, encrypted: String },
    /// No signature at all.
    None,
}

pub(crate) fn seal_gemini(thought_signature: &str) -> String {
    format!("{GEMINI}{thought_signature}")
}

pub(crate) fn seal_openai(id: &str, encrypted: &str) -> String {
    let payload = json!([id, encrypted]).to_string();
    format!("{OPENAI}{}", STANDARD.encode(payload))
}

pub(crate) fn open(signature: &str) -> Sealed<'_> {
    if signature.is_empty() {
        return Sealed::None;
    }
    if let Some(payload) = signature.strip_prefix(GEMINI) {
        return Sealed::Gemini(payload);
    }
    if let Some(payload) = signature.strip_prefix(OPENAI) {
        return open_openai(payload).unwrap_or(Sealed::None);
    }
    Sealed::Anthropic(signature)
}

fn open_openai<'a>(payload: &str) -> Option<Sealed<'a>> {
    let bytes = STANDARD.decode(payload).ok()?;
    let pair: Value = serde_json::from_slice(&bytes).ok()?;
    Some(Sealed::OpenAi {
        id: pair.get(0)?.as_str()?.to_owned(),
        encrypted: pair.get(1)?.as_str()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_can_be_opened_again() {
        assert_eq!(open(&seal_gemini("c2ln")), Sealed::Gemini("c2ln"));
        assert_eq!(
            open(&seal_openai("rs_1", "gAAA=")),
            Sealed::OpenAi {
                id: "rs_1".to_owned(),
                encrypted: "gAAA=".to_owned()
            }
        );
    }

    #[test]
    fn a_signature_of_anthropics_is_left_alone() {
        assert_eq!(open("EqQBCg=="), Sealed::Anthropic("EqQBCg=="));
        assert_eq!(open(""), Sealed::None);
        assert_eq!(open("v1.openai.%%"), Sealed::None);
    }
}
