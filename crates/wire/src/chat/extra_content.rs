//! `extra_content` of a call: Google's place for the thought signature that must come
//! back with it. In the neutral form it is the signature of an empty thought before the
//! call.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Value, json};

use crate::json_path::JsonPath;
use crate::neutral::{Block, Content, Map};
use crate::signature_envelope::{
    ChatState, SignatureEnvelope, decode_envelope, encode_chat_state, encode_gemini_signature,
};

pub(super) const FIELD: &str = "extra_content";

/// The signature for the value of `extra_content`: Gemini's where it holds nothing else,
/// otherwise an envelope for the server that sent it.
pub(super) fn encode_extra(extra: &Value, from: Option<&str>) -> String {
    match gemini_signature(extra) {
        Some(signature) => encode_gemini_signature(signature),
        None => encode_chat_state(&ChatState {
            from: from.map(str::to_owned),
            extra: Some(extra.clone()),
            ..ChatState::default()
        }),
    }
}

/// Gemini's signature, if that is all there is.
fn gemini_signature(extra: &Value) -> Option<&str> {
    let google = only(extra, "google")?;
    only(google, "thought_signature")?.as_str()
}

fn only<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.get(key)
}

/// Gemini's signature as `extra_content`.
pub(super) fn with_signature(signature: &str) -> Value {
    json!({"google": {"thought_signature": signature}})
}

/// The `extra_content` for a client, of the call after a thought with this
/// signature.
pub(super) fn extra_for_client(signature: &str) -> Option<Value> {
    match decode_envelope(signature) {
        SignatureEnvelope::Gemini(signature) => Some(with_signature(signature)),
        SignatureEnvelope::Chat(state) => state.extra,
        _ => None,
    }
}

/// Removes and returns a call's `extra_content`.
pub(super) fn take(rest: &mut Map) -> Option<Value> {
    let there = rest.get(FIELD).is_some_and(Value::is_object);
    there.then(|| rest.shift_remove(FIELD)).flatten()
}

/// Finds the thoughts that belong to calls with `extra_content`, among those of the
/// message.
#[derive(Debug, Default)]
pub(super) struct SignedThoughts {
    /// Indexes of the thoughts, by signature.
    by_signature: Option<PlacesByText>,
    /// Where those are that hold `extra_content`, by its text; each is opened once only.
    by_extra: Option<PlacesByText>,
    /// Indexes of the thoughts that were removed.
    taken: HashSet<usize>,
}

/// Places in a message by a text, in order.
type PlacesByText = HashMap<String, VecDeque<usize>>;

impl SignedThoughts {
    /// The thought before a call with this `extra_content`: one of the message, which is
    /// removed from its old place, or an empty one.
    pub(super) fn thought_before(
        &mut self,
        extra: &Value,
        from: Option<&str>,
        path: &JsonPath<'_>,
        given: &mut [Block],
    ) -> Block {
        let signature_of = |signature: &str| Some(signature.to_owned());
        let encoded = encode_extra(extra, from);
        let found = match gemini_signature(extra) {
            Some(_) => {
                let places = self
                    .by_signature
                    .get_or_insert_with(|| places(given, signature_of));
                places.get_mut(&encoded)
            }
            None => {
                let places = self
                    .by_extra
                    .get_or_insert_with(|| places(given, extra_text));
                places.get_mut(&extra.to_string())
            }
        };
        let at = found.and_then(VecDeque::pop_front);
        let empty = Block::new(Content::Thinking {
            thinking: String::new(),
            signature: encoded,
        });
        let empty = empty.with_path(&path.key(FIELD));
        match at.and_then(|at| Some((at, given.get_mut(at)?))) {
            Some((at, thought)) => {
                self.taken.insert(at);
                std::mem::replace(thought, empty)
            }
            None => empty,
        }
    }

    /// Closes the gaps of removed thoughts.
    pub(super) fn remove_taken(self, given: &mut Vec<Block>) {
        if self.taken.is_empty() {
            return;
        }
        let mut at = 0..;
        given.retain(|_| at.next().is_none_or(|at| !self.taken.contains(&at)));
    }
}

/// The `extra_content` that a signature holds, as text.
fn extra_text(signature: &str) -> Option<String> {
    match decode_envelope(signature) {
        SignatureEnvelope::Chat(state) => Some(state.extra?.to_string()),
        _ => None,
    }
}

/// Indexes of the thoughts, by a key derived from their signatures.
fn places(given: &[Block], key: impl Fn(&str) -> Option<String>) -> PlacesByText {
    let mut places = PlacesByText::new();
    for (at, block) in given.iter().enumerate() {
        if let Content::Thinking { signature, .. } = &block.content
            && let Some(key) = key(signature)
        {
            places.entry(key).or_default().push_back(at);
        }
    }
    places
}
