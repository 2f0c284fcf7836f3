//! Private state of other providers inside Anthropic's `signature` field.
//!
//! Gemini's thought signatures, OpenAI's encrypted reasoning and the state that Chat servers
//! send with their thoughts must be sent back with the next request. They are encoded as
//! `v1.<provider>.<payload>`, so that a client that only echoes fields sends them back.
//! Anthropic's own signatures contain no dot and are unchanged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::fields::{parse_encoded, put};

const GEMINI: &str = "v1.gemini.";
const OPENAI: &str = "v1.openai.";
const CHAT: &str = "v1.chat.";

/// Whose state a signature holds.
#[derive(Debug, PartialEq)]
pub(crate) enum SignatureEnvelope<'a> {
    /// Anthropic's own signature, unchanged.
    Anthropic(&'a str),
    /// Gemini's `thoughtSignature`.
    Gemini(&'a str),
    /// OpenAI's reasoning item: its id and encrypted content.
    OpenAi { id: String, encrypted: String },
    /// The state of a Chat server.
    Chat(Box<ChatState>),
    /// No signature at all.
    None,
}

pub(crate) fn encode_gemini_signature(thought_signature: &str) -> String {
    format!("{GEMINI}{thought_signature}")
}

pub(crate) fn encode_openai_reasoning(id: &str, encrypted: &str) -> String {
    let payload = json!([id, encrypted]).to_string();
    format!("{OPENAI}{}", STANDARD.encode(payload))
}

/// The state that a Chat server sends with a thought, and requires back.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ChatState {
    /// The tag of the server; `None` where a client sent the state without an envelope.
    pub(crate) from: Option<String>,
    /// The name of the field that held the thought's text.
    pub(crate) field: Option<String>,
    /// `reasoning_details`.
    pub(crate) details: Vec<Value>,
    /// Whether the details go on with those of an earlier thought of the same message.
    pub(crate) more: bool,
    /// The ids of calls that the details name, and which call of the message each was.
    pub(crate) calls: Vec<(String, usize)>,
    /// `extra_content` of the call that follows.
    pub(crate) extra: Option<Value>,
}

pub(crate) fn encode_chat_state(state: &ChatState) -> String {
    let mut map = Map::new();
    put(&mut map, "from", state.from.clone());
    put(&mut map, "field", state.field.clone());
    if !state.details.is_empty() {
        map.insert("details".to_owned(), state.details.clone().into());
    }
    put(&mut map, "more", state.more.then_some(true));
    if !state.calls.is_empty() {
        let calls = state.calls.iter();
        let calls: Map<String, Value> = calls.map(|(id, n)| (id.clone(), (*n).into())).collect();
        map.insert("calls".to_owned(), calls.into());
    }
    put(&mut map, "extra", state.extra.clone());
    format!("{CHAT}{}", STANDARD.encode(Value::Object(map).to_string()))
}

pub(crate) fn decode_envelope(signature: &str) -> SignatureEnvelope<'_> {
    if signature.is_empty() {
        return SignatureEnvelope::None;
    }
    if let Some(payload) = signature.strip_prefix(GEMINI) {
        return SignatureEnvelope::Gemini(payload);
    }
    if let Some(payload) = signature.strip_prefix(OPENAI) {
        return decode_openai_reasoning(payload).unwrap_or(SignatureEnvelope::None);
    }
    if let Some(payload) = signature.strip_prefix(CHAT) {
        return decode_chat_state(payload).unwrap_or(SignatureEnvelope::None);
    }
    SignatureEnvelope::Anthropic(signature)
}

fn decode_chat_state<'a>(payload: &str) -> Option<SignatureEnvelope<'a>> {
    let bytes = STANDARD.decode(payload).ok()?;
    let value = parse_encoded(&bytes)?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let details = value.get("details").and_then(Value::as_array);
    let calls = value.get("calls").and_then(Value::as_object);
    let call = |(id, n): (&String, &Value)| Some((id.clone(), usize::try_from(n.as_u64()?).ok()?));
    Some(SignatureEnvelope::Chat(Box::new(ChatState {
        from: text("from"),
        field: text("field"),
        details: details.cloned().unwrap_or_default(),
        more: value.get("more").and_then(Value::as_bool).unwrap_or(false),
        calls: calls.into_iter().flatten().filter_map(call).collect(),
        extra: value.get("extra").cloned(),
    })))
}

fn decode_openai_reasoning<'a>(payload: &str) -> Option<SignatureEnvelope<'a>> {
    let bytes = STANDARD.decode(payload).ok()?;
    let pair = parse_encoded(&bytes)?;
    Some(SignatureEnvelope::OpenAi {
        id: pair.get(0)?.as_str()?.to_owned(),
        encrypted: pair.get(1)?.as_str()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_can_be_decoded_again() {
        assert_eq!(
            decode_envelope(&encode_gemini_signature("c2ln")),
            SignatureEnvelope::Gemini("c2ln")
        );
        assert_eq!(
            decode_envelope(&encode_openai_reasoning("rs_1", "gAAA=")),
            SignatureEnvelope::OpenAi {
                id: "rs_1".to_owned(),
                encrypted: "gAAA=".to_owned()
            }
        );
    }

    #[test]
    fn what_a_chat_server_gave_can_be_opened_again() {
        let whole = ChatState {
            from: Some("ab12".to_owned()),
            field: Some("reasoning".to_owned()),
            details: vec![json!({"type": "reasoning.encrypted", "data": "x", "index": 0})],
            more: true,
            calls: vec![("call_1".to_owned(), 0)],
            extra: Some(json!({"vendor": {"state": 1}})),
        };
        for state in [whole, ChatState::default()] {
            assert_eq!(
                decode_envelope(&encode_chat_state(&state)),
                SignatureEnvelope::Chat(Box::new(state))
            );
        }
        assert_eq!(decode_envelope("v1.chat.%%"), SignatureEnvelope::None);
    }

    #[test]
    fn state_with_more_values_than_any_server_sends_is_not_opened() {
        let values = "[0],".repeat(1 << 16);
        let state = format!(r#"{{"extra":[{values}0]}}"#);
        let signature = format!("{CHAT}{}", STANDARD.encode(state));
        assert_eq!(decode_envelope(&signature), SignatureEnvelope::None);
    }

    #[test]
    fn a_signature_of_anthropics_is_left_alone() {
        assert_eq!(
            decode_envelope("EqQBCg=="),
            SignatureEnvelope::Anthropic("EqQBCg==")
        );
        assert_eq!(decode_envelope(""), SignatureEnvelope::None);
        assert_eq!(decode_envelope("v1.openai.%%"), SignatureEnvelope::None);
    }
}
