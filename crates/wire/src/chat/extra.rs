//! `extra_content` of a call: Google's place for the thought signature that must come
//! back with it. In the neutral form it is the signature of an empty thought before the
//! call.

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

/// The thought that stands before a call with this `extra_content`: one that was given
/// with its blocks, which is then taken out of them, or an empty one.
pub(super) fn thought_before(
    extra: &Value,
    from: Option<&str>,
    path: &Path<'_>,
    given: &mut Vec<Block>,
) -> Block {
    let sealed = seal(extra, from);
    let same = |block: &Block| match (&block.content, open(&sealed)) {
        (Content::Thinking { signature, .. }, Sealed::Gemini(_)) => *signature == sealed,
        (Content::Thinking { signature, .. }, _) => {
            matches!(open(signature), Sealed::Chat(state) if state.extra.as_ref() == Some(extra))
        }
        _ => false,
    };
    if let Some(at) = given.iter().position(same) {
        return given.remove(at);
    }
    let thought = Block::new(Content::Thinking {
        thinking: String::new(),
        signature: sealed,
    });
    thought.at(&path.key(FIELD))
}
