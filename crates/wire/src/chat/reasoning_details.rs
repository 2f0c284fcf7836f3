//! `reasoning_details`: the list in which OpenRouter and others send a model's reasoning,
//! part of it readable by the model's vendor only. Streams send it in fragments.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

/// Maximum bytes the details of one response may have.
const MAX_DETAIL_BYTES: usize = 16 << 20;

/// The most details one response may have.
const MAX_DETAILS: usize = 4096;

/// How many details of one kind and index a fragment is compared with, the last first: no
/// server streams more of them at once.
const MAX_COMPARED: usize = 32;

/// The details of a response, assembled from their fragments.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails {
    items: Vec<Value>,
    bytes: usize,
    /// Where the details that grow are, by the field in which they do and their place.
    growing: HashMap<(&'static str, Option<u64>), Vec<usize>>,
    /// Where the others are, by their hash.
    whole: HashMap<u64, Vec<usize>>,
    hasher: RandomState,
}

impl ReasoningDetails {
    /// Adds a fragment; returns what is wrong if there are too many.
    pub(super) fn push(&mut self, piece: Value) -> Result<(), &'static str> {
        self.bytes += size(&piece);
        if self.bytes > MAX_DETAIL_BYTES {
            return Err("the reasoning details are too large");
        }
        let alike = match growing(&piece) {
            Some(key) => {
                if let Some(at) = self.continued(&piece, key) {
                    self.grow(at, piece, key);
                    return Ok(());
                }
                self.growing.entry((key, place(&piece))).or_default()
            }
            None => {
                let hash = self.hasher.hash_one(&piece);
                self.whole.entry(hash).or_default()
            }
        };
        // Some servers repeat what is whole.
        let mut last = alike.iter().rev().take(MAX_COMPARED);
        if last.any(|at| self.items.get(*at) == Some(&piece)) {
            return Ok(());
        }
        if self.items.len() >= MAX_DETAILS {
            return Err("too many reasoning details");
        }
        alike.push(self.items.len());
        self.items.push(piece);
        Ok(())
    }

    pub(super) fn take(&mut self) -> Vec<Value> {
        self.growing.clear();
        self.whole.clear();
        std::mem::take(&mut self.items)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The index of the item that a fragment continues: of the same kind and index, or the last
    /// one where fragments have no index.
    fn continued(&self, piece: &Value, key: &'static str) -> Option<usize> {
        let fits = |at: &usize| {
            let item = self.items.get(*at);
            item.is_some_and(|item| growing(item) == Some(key) && can_be_one(item, piece))
        };
        let last = self.items.len().checked_sub(1)?;
        let here = place(piece);
        let last_has_no_place = self.items.last().and_then(place).is_none();
        if (here.is_none() || last_has_no_place) && fits(&last) {
            return Some(last);
        }
        let there = self.growing.get(&(key, Some(here?)))?;
        there.iter().rev().take(MAX_COMPARED).copied().find(fits)
    }

    fn grow(&mut self, at: usize, piece: Value, key: &'static str) {
        let Some(known) = self.items.get_mut(at) else {
            return;
        };
        let before = place(known);
        grow(known, piece, key);
        // A fragment may add the index of an item without one.
        let after = place(known);
        if before != after {
            self.growing.entry((key, after)).or_default().push(at);
        }
    }
}

/// The text of a detail, where it has one.
pub(super) fn text(detail: &Value) -> Option<&str> {
    detail.get(growing(detail)?)?.as_str()
}

/// The id of a detail, which may be that of a call.
pub(super) fn id(detail: &Value) -> Option<&str> {
    detail.get("id")?.as_str().filter(|id| !id.is_empty())
}

/// The field in which a kind of detail grows; others are whole.
fn growing(detail: &Value) -> Option<&'static str> {
    match detail.get("type")?.as_str()? {
        "reasoning.text" => Some("text"),
        "reasoning.summary" => Some("summary"),
        _ => None,
    }
}

fn place(detail: &Value) -> Option<u64> {
    detail.get("index")?.as_u64()
}

/// Whether two fragments can belong to one detail: a signed one is complete, and two ids
/// mean two details.
fn can_be_one(known: &Value, piece: &Value) -> bool {
    let signed = known.get("signature").is_some_and(Value::is_string);
    let goes_on = text(piece).is_some_and(|text| !text.is_empty());
    let other_id = id(piece).is_some() && id(known).is_some() && id(piece) != id(known);
    !(other_id || signed && goes_on)
}

fn grow(known: &mut Value, piece: Value, key: &str) {
    let (Value::Object(known), Value::Object(piece)) = (known, piece) else {
        return;
    };
    for (name, value) in piece {
        match known.get_mut(&name) {
            Some(Value::String(text)) if name == key => {
                text.push_str(value.as_str().unwrap_or_default());
            }
            Some(Value::Null) | None => {
                known.insert(name, value);
            }
            Some(_) => {}
        }
    }
}

fn size(piece: &Value) -> usize {
    match piece {
        Value::Object(map) => map.values().map(size).sum::<usize>() + 64,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 16,
        Value::String(text) => text.len(),
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(pieces: &[Value]) -> Value {
        let mut details = ReasoningDetails::default();
        for piece in pieces {
            details.push(piece.clone()).unwrap();
        }
        details.take().into()
    }

    #[test]
    fn texts_of_one_place_grow_and_keep_what_comes_last() {
        let text = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0});
        let signed = json!({"type": "reasoning.text", "signature": "sig", "index": 0,
            "format": "anthropic-claude-v1"});
        let expected = json!([{"type": "reasoning.text", "text": "Hm. So.", "index": 0,
            "signature": "sig", "format": "anthropic-claude-v1"}]);
        assert_eq!(merged(&[text("Hm."), text(" So."), signed]), expected);
    }

    #[test]
    fn kinds_and_places_are_kept_apart() {
        let text = |n: u64| json!({"type": "reasoning.text", "text": "a", "index": n});
        let encrypted = json!({"type": "reasoning.encrypted", "data": "x", "index": 0});
        let pieces = [text(0), encrypted.clone(), text(1), text(0)];
        let expected = json!([
            {"type": "reasoning.text", "text": "aa", "index": 0},
            encrypted,
            {"type": "reasoning.text", "text": "a", "index": 1},
        ]);
        assert_eq!(merged(&pieces), expected);
    }

    #[test]
    fn pieces_without_a_place_go_on_with_the_last_of_their_kind_only() {
        let text = |text: &str| json!({"type": "reasoning.text", "text": text});
        let encrypted = json!({"type": "reasoning.encrypted", "data": "x"});
        let pieces = [
            text("a"),
            text("b"),
            encrypted.clone(),
            text("c"),
            encrypted.clone(),
        ];
        assert_eq!(merged(&pieces), json!([text("ab"), encrypted, text("c")]));
    }

    #[test]
    fn encrypted_details_are_never_joined() {
        let encrypted = |id: &str, data: &str| json!({"type": "reasoning.encrypted", "data": data, "id": id, "index": 0});
        let pieces = [encrypted("call_1", "x"), encrypted("call_2", "y")];
        assert_eq!(merged(&pieces), json!(pieces));
    }

    #[test]
    fn a_text_after_a_signed_one_is_another() {
        let signed = |text: &str| json!({"type": "reasoning.text", "text": text, "signature": "s"});
        assert_eq!(
            merged(&[signed("a"), signed("b")]),
            json!([signed("a"), signed("b")])
        );
    }

    #[test]
    fn too_much_is_refused() {
        let mut details = ReasoningDetails::default();
        let big = json!({"type": "reasoning.encrypted", "data": "x".repeat(MAX_DETAIL_BYTES)});
        assert!(details.push(big).is_err());
        let mut details = ReasoningDetails::default();
        let piece = |n: usize| json!({"type": "reasoning.encrypted", "data": n.to_string()});
        let pushed = (0..=MAX_DETAILS).map(|n| details.push(piece(n)));
        assert_eq!(pushed.filter(Result::is_err).count(), 1);
    }
}
