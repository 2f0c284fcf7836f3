//! `extra_content` of a call: Google's place for the thought signature that must come
//! back with it. In the neutral form it is the signature of an empty thought before the
//! call.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::fields::Path;
use crate::neutral::{Block, Content, Map};
use crate::sealed::{ChatState, Sealed, open, seal_chat, seal_gemini};

pub(super) const FIELD: &str = "extra_content";

/// The seal of what stood in `extra_content`: Gemini's where nothing else is in it, else
/// that of the server which gave it.
pub(super) fn seal(extra: &Value, from: Option<&str>) -> String {
    match signature(extra) {
        Some(signature) => seal_gemini(signature),
        None => seal_chat(&ChatState {
            from: from.map(str::to_owned),
            extra: Some(extra.clone()),
            ..ChatState::default()
        }),
    }
}

/// Gemini's signature, if that is all there is.
fn signature(extra: &Value) -> Option<&str> {
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

/// What a client is given as `extra_content` of the call after a thought of this
/// signature.
pub(super) fn for_client(signature: &str) -> Option<Value> {
    match open(signature) {
        Sealed::Gemini(signature) => Some(with_signature(signature)),
        Sealed::Chat(state) => state.extra,
        _ => None,
    }
}

/// Takes what stands in a call's `extra_content`.
pub(super) fn take(rest: &mut Map) -> Option<Value> {
    let there = rest.get(FIELD).is_some_and(Value::is_object);
    there.then(|| rest.shift_remove(FIELD)).flatten()
}

/// Finds the thoughts that stand before calls with `extra_content`, among those that were
/// given with the message.
#[derive(Debug, Default)]
pub(super) struct Signed {
    /// The signatures of thoughts that hold `extra_content`, by its text; each is opened
    /// once only.
    known: Option<HashMap<String, String>>,
}

impl Signed {
    /// The thought before a call with this `extra_content`: one that was given, which is
    /// then taken out of where it stood, or an empty one.
    pub(super) fn thought_before(
        &mut self,
        extra: &Value,
        from: Option<&str>,
        path: &Path<'_>,
        given: &mut Vec<Block>,
    ) -> Block {
        let sealed = seal(extra, from);
        let wanted = match signature(extra) {
            Some(_) => Some(&sealed),
            None => self.known(given).get(&extra.to_string()),
        };
        let found = given.iter().position(|block| match &block.content {
            Content::Thinking { signature, .. } => Some(signature) == wanted,
            _ => false,
        });
        if let Some(at) = found {
            return given.remove(at);
        }
        let thought = Block::new(Content::Thinking {
            thinking: String::new(),
            signature: sealed,
        });
        thought.at(&path.key(FIELD))
    }

    fn known(&mut self, given: &[Block]) -> &HashMap<String, String> {
        self.known.get_or_insert_with(|| {
            let signatures = given.iter().filter_map(|block| match &block.content {
                Content::Thinking { signature, .. } => Some(signature),
                _ => None,
            });
            let known = signatures.filter_map(|signature| match open(signature) {
                Sealed::Chat(state) => Some((state.extra?.to_string(), signature.clone())),
                _ => None,
            });
            known.collect()
        })
    }
}
