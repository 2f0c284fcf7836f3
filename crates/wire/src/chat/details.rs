//! `reasoning_details`: the list in which OpenRouter and others give what a model thought,
//! part of it for the model's vendor only. Streams give it in pieces.

use serde_json::Value;

/// The most bytes the details of one answer may have.
const MAX_BYTES: usize = 16 << 20;

/// The most details one answer may have.
const MAX_ITEMS: usize = 4096;

/// The details of an answer, put together from their pieces.
#[derive(Debug, Default)]
pub(super) struct Details {
    items: Vec<Value>,
    bytes: usize,
}

impl Details {
    /// Takes a piece; says what is wrong if there is too much of them.
    pub(super) fn push(&mut self, piece: Value) -> Result<(), &'static str> {
        self.bytes += size(&piece);
        if self.bytes > MAX_BYTES {
            return Err("its reasoning details are too large");
        }
        if let Some(key) = growing(&piece)
            && let Some(known) = self.continued(&piece)
        {
            grow(known, piece, key);
            return Ok(());
        }
        // Some servers repeat what is whole.
        if self.items.contains(&piece) {
            return Ok(());
        }
        if self.items.len() >= MAX_ITEMS {
            return Err("it gives too many reasoning details");
        }
        self.items.push(piece);
        Ok(())
    }

    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.items)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item that a piece goes on with: of the same kind and place, or where pieces
    /// have no place the last one.
    fn continued(&mut self, piece: &Value) -> Option<&mut Value> {
        let last = self.items.len().checked_sub(1)?;
        let items = self.items.iter_mut().enumerate().rev();
        let mut fitting = items.filter(|(at, item)| {
            let here = match (place(item), place(piece)) {
                (Some(known), Some(found)) => known == found,
                _ => *at == last,
            };
            here && item.get("type") == piece.get("type") && agree(item, piece)
        });
        fitting.next().map(|(_, item)| item)
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

/// Whether two pieces can be of one detail: one that is signed is complete, and two ids
/// are of two.
fn agree(known: &Value, piece: &Value) -> bool {
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
        let mut details = Details::default();
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
        let mut details = Details::default();
        let big = json!({"type": "reasoning.encrypted", "data": "x".repeat(MAX_BYTES)});
        assert!(details.push(big).is_err());
        let mut details = Details::default();
        let piece = |n: usize| json!({"type": "reasoning.encrypted", "data": n.to_string()});
        let pushed = (0..=MAX_ITEMS).map(|n| details.push(piece(n)));
        assert_eq!(pushed.filter(Result::is_err).count(), 1);
    }
}
